import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ProblemError, unavailable } from '@relay/problem';
import type { FastifyRequest } from './fastify-request.js';
import type { BodyRule } from './route-rules.decorator.js';

export const DEFAULT_TYPES = ['application/json'];
const DEFAULT_MAX_BYTES = 64 * 1024;

/** Media type without its parameters, in lower case. */
export const mediaTypeOf = (headers: IncomingHttpHeaders): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Returns why the relay refuses the body that these headers announce, before it reads a byte; undefined if it accepts it. */
export function refusedBody(headers: IncomingHttpHeaders, rule: BodyRule | undefined): ProblemError | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity')
    return new ProblemError('unsupported-media-type', 'A body must have no content encoding.', {
      headers: { 'accept-encoding': 'identity' },
    });
  const announced = Number(headers['content-length'] ?? 0);
  // The first byte of a chunked request shows whether it has a body (RFC 9112 section 6.3); `BodyReader` checks it then.
  if (announced === 0) return undefined;
  const maxBytes = rule?.maxBytes ?? DEFAULT_MAX_BYTES;
  return refusedType(headers, rule) ?? (announced > maxBytes ? tooLong(maxBytes) : undefined);
}

/** Returns why the relay does not accept a body of this media type; undefined if it does. */
function refusedType(headers: IncomingHttpHeaders, rule: BodyRule | undefined): ProblemError | undefined {
  const types = rule?.types ?? DEFAULT_TYPES;
  if (types.includes(mediaTypeOf(headers))) return undefined;
  const { jsonBeside } = rule ?? {};
  if (headers['content-type'] === undefined && jsonBeside !== undefined && headers[jsonBeside] !== undefined)
    return undefined;
  return new ProblemError(
    'unsupported-media-type',
    `Send the body with the header Content-Type: ${types.join(' or ')}.`,
  );
}

const tooLong = (maxBytes: number): ProblemError =>
  new ProblemError('payload-too-large', `The body is longer than the ${maxBytes} bytes that this path accepts.`);

/** Limit for callers without a token: the longest body they need is a `GET /webhooks` with a credential in its body. */
const MAX_ANONYMOUS_BYTES = 16 * 1024;
/** All callers without a credential share this account. */
const NOBODY = '';

export type Done = (error: Error | null, body?: Buffer) => void;

/** Reads the bodies of known callers, within the limits of the route and the budget of the process. */
export class BodyReader {
  constructor(private readonly budget: BodyBudget) {}

  read(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
    const { caller, headers } = request;
    const rule = request.routeOptions.config.body;
    const routeBytes = rule?.maxBytes ?? DEFAULT_MAX_BYTES;
    const maxBytes = caller === undefined ? Math.min(routeBytes, MAX_ANONYMOUS_BYTES) : routeBytes;
    const announced = Number(headers['content-length'] ?? Number.NaN);
    if (announced > maxBytes) return done(tooLong(maxBytes));
    const holder = caller?.clientId ?? NOBODY;
    if (payload.destroyed) return done(brokenOff());
    // Callers without a credential share an account, so a body that one of them announces must not block the others.
    const isNoted = announced > 0 && caller !== undefined && !payload.complete;
    // The check comes before the caller sends the body.
    const hasRoom = isNoted
      ? this.budget.announce(holder, announced)
      : !(announced > 0) || this.budget.hasRoom(holder, announced);
    if (!hasRoom) return done(noRoom());
    const refused = Number.isNaN(announced) ? refusedType(headers, rule) : undefined;
    const mostBytes = Number.isNaN(announced) ? maxBytes : announced;
    const held = new HeldBody(this.budget, holder, mostBytes, isNoted ? announced : 0);
    const settle = (fault: ProblemError | undefined): void => {
      if (fault === undefined) {
        request.heldBody = held;
        done(null, held.bytes);
      } else {
        held.release();
        done(fault);
      }
    };
    // Most bodies arrive together with their heads, so there is nothing to wait for.
    if (payload.complete) {
      const bytes = payload.read() as Buffer | null;
      settle(bytes === null ? undefined : (refused ?? faultOf(held, bytes)));
    } else receive(payload, held, refused, settle);
  }
}

/** Adds the pieces as they arrive, and settles once. @param refused the problem if no byte is accepted */
function receive(
  payload: IncomingMessage,
  held: HeldBody,
  refused: ProblemError | undefined,
  settle: (fault: ProblemError | undefined) => void,
): void {
  const end = (fault: ProblemError | undefined): void => {
    payload.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
    settle(fault);
  };
  const onData = (piece: Buffer): void => {
    const fault = refused ?? faultOf(held, piece);
    if (fault !== undefined) end(fault);
  };
  const onEnd = (): void => end(undefined);
  const onBroken = (): void => end(brokenOff());
  payload.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  payload.resume();
}

/** Adds a piece. Returns why it was not added. */
function faultOf(held: HeldBody, piece: Buffer): ProblemError | undefined {
  const added = held.add(piece);
  return added === 'added' ? undefined : added === 'too-long' ? tooLong(held.mostBytes) : noRoom();
}

export const noRoom = (): ProblemError =>
  unavailable('The relay holds as many bodies and answers as it can and accepts no more of yours now.', 1);

/** The connection has ended, so this answer reaches no one. */
const brokenOff = (): ProblemError => new ProblemError('invalid-request', 'The body ended before it was complete.');

/** A caller may hold a third of the free bytes: alone it gets a quarter of the budget, and another caller always has room. */
const FREE_FOR_EACH = 3;

/**
 * Bytes of bodies that a process may hold while it receives and answers them. The budget counts buffered bytes, not
 * announced ones: a caller that announces a body and sends nothing takes room only from its own next bodies. A caller’s
 * share is a part of the free bytes, so it shrinks as other callers arrive: a dozen callers at their limit leave room
 * for another’s largest envelope (dynamic thresholds, Choudhury and Hahne 1998).
 */
export class BodyBudget {
  readonly #held = new Map<string, number>();
  /** Bytes of bodies that are being received and are not buffered yet. */
  readonly #announced = new Map<string, number>();
  #used = 0;

  constructor(private readonly bytes: number) {}

  get used(): number {
    return this.#used;
  }

  /** Whether this caller may hold this number of further bytes; reserves nothing. */
  hasRoom(caller: string, bytes: number): boolean {
    return ((this.#held.get(caller) ?? 0) + bytes) * FREE_FOR_EACH <= this.bytes - this.#used - bytes;
  }

  /**
   * Counts a body that is about to arrive, so that a caller that begins too many is refused before it sends them.
   * @returns false when the caller’s share has no room for it beside the bodies that it sends already
   */
  announce(caller: string, bytes: number): boolean {
    const held = this.#held.get(caller) ?? 0;
    const announced = (this.#announced.get(caller) ?? 0) + bytes;
    if ((held + announced) * FREE_FOR_EACH > this.bytes - this.#used - announced) return false;
    this.#announced.set(caller, announced);
    return true;
  }

  /** Removes announced bytes that have been reserved, or will not arrive. */
  unannounce(caller: string, bytes: number): void {
    subtract(this.#announced, caller, bytes);
  }

  /** Reserves the bytes. @returns false when there is no room */
  take(caller: string, bytes: number): boolean {
    if (!this.hasRoom(caller, bytes)) return false;
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + bytes);
    this.#used += bytes;
    return true;
  }

  give(caller: string, bytes: number): void {
    this.#used -= bytes;
    subtract(this.#held, caller, bytes);
  }
}

function subtract(from: Map<string, number>, caller: string, bytes: number): void {
  const left = (from.get(caller) ?? 0) - bytes;
  if (left > 0) from.set(caller, left);
  else from.delete(caller);
}

const FIRST_BYTES = 4 * 1024;
const NOTHING = Buffer.alloc(0);

/** `too-long` and `no-room` (in the budget) mean that the piece was not added. */
type Added = 'added' | 'too-long' | 'no-room';

/**
 * Holds one body in a buffer of its own, because a body may arrive in pieces of one byte and Node needs some 250 bytes
 * for each piece. The buffer counts against the budget until `release`.
 */
export class HeldBody {
  #buffer: Buffer = NOTHING;
  #length = 0;

  /**
   * @param mostBytes the announced length; without one, the limit of the route
   * @param announced bytes that the budget has counted as announced for this body
   */
  constructor(
    private readonly budget: BodyBudget,
    private readonly caller: string,
    readonly mostBytes: number,
    private announced = 0,
  ) {}

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(piece: Buffer): Added {
    const length = this.#length + piece.length;
    if (length > this.mostBytes) return 'too-long';
    if (length > this.#buffer.length && !this.#grow(piece, length)) return 'no-room';
    if (this.#buffer !== piece) piece.copy(this.#buffer, this.#length);
    this.#length = length;
    return 'added';
  }

  /** Doubles the buffer, so that bytes are copied rarely. Keeps a body in one piece, the usual case, without a copy. */
  #grow(piece: Buffer, length: number): boolean {
    const isWhole = length === piece.length && length === this.mostBytes;
    const size = isWhole ? length : Math.min(this.mostBytes, Math.max(FIRST_BYTES, length, 2 * this.#buffer.length));
    const more = size - this.#buffer.length;
    if (!this.budget.take(this.caller, more)) return false;
    this.#unannounce(Math.min(more, this.announced));
    const buffer = isWhole ? piece : Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(buffer, 0, 0, this.#length);
    this.#buffer = buffer;
    return true;
  }

  #unannounce(bytes: number): void {
    if (bytes > 0) this.budget.unannounce(this.caller, bytes);
    this.announced -= bytes;
  }

  /** Returns the buffer to the budget; the bytes must not be used afterwards. */
  release(): void {
    this.budget.give(this.caller, this.#buffer.length);
    this.#unannounce(this.announced);
    this.#buffer = NOTHING;
    this.#length = 0;
  }
}

/** Bytes up to which an answer is not counted: answers for one envelope or webhook are too small to matter. */
const SMALL_LENGTH = 4 * 1024;

/**
 * Counts an answer against the budget until it is sent. Otherwise a caller that reads none of its lists fills the memory.
 * @returns whether there was room
 */
export function holdAnswer(budget: BodyBudget, caller: string, length: number, response: ServerResponse): boolean {
  if (length <= SMALL_LENGTH || response.destroyed) return true;
  if (!budget.take(caller, length)) return false;
  let isHeld = true;
  const release = (): void => {
    if (isHeld) budget.give(caller, length);
    isHeld = false;
    response.req.socket.off('close', release);
  };
  response.once('close', release);
  // When a connection ends, Node emits no `close` on an answer that waits behind another one.
  response.req.socket.once('close', release);
  return true;
}
