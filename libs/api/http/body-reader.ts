import type { IncomingMessage, IncomingHttpHeaders } from 'node:http';
import { ProblemError, unavailable } from '@relay/problem';
import { HeldBody, type BodyBudget, type Added } from './body-budget.js';
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
  return refusedType(headers, rule) ?? (announced > (rule?.maxBytes ?? DEFAULT_MAX_BYTES) ? tooLong() : undefined);
}

/** Returns why the relay does not accept a body of this media type; undefined if it does. */
function refusedType(headers: IncomingHttpHeaders, rule: BodyRule | undefined): ProblemError | undefined {
  const types = rule?.types ?? DEFAULT_TYPES;
  if (types.includes(mediaTypeOf(headers))) return undefined;
  const { jsonBeside } = rule ?? {};
  if (headers['content-type'] === undefined && jsonBeside !== undefined && headers[jsonBeside] !== undefined)
    return undefined;
  return new ProblemError('unsupported-media-type', `The body of this request must be ${types.join(' or ')}.`);
}

const tooLong = (): ProblemError => new ProblemError('payload-too-large', 'The body is longer than this path accepts.');

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
    if (announced > maxBytes) return done(tooLong());
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
      settle(bytes === null ? undefined : (refused ?? faultOf(held.add(bytes))));
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
    const fault = refused ?? faultOf(held.add(piece));
    if (fault !== undefined) end(fault);
  };
  const onEnd = (): void => end(undefined);
  const onBroken = (): void => end(brokenOff());
  payload.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  payload.resume();
}

const faultOf = (added: Added): ProblemError | undefined =>
  added === 'added' ? undefined : added === 'too-long' ? tooLong() : noRoom();

export const noRoom = (): ProblemError =>
  unavailable('The relay holds as many bodies and answers as it can and accepts no more of yours now.', 1);

/** The connection has ended, so this answer reaches no one. */
const brokenOff = (): ProblemError => new ProblemError('invalid-request', 'The body ended before it was complete.');
