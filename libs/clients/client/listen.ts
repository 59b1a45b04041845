import { setTimeout as delay } from 'node:timers/promises';
import { ListenEvents, type ListenEventData } from '@relay/events';
import type { OAuthError, Problem } from './api.gen.js';

export type { Problem };

/** An error response of the relay, with its problem details (RFC 9457). Match on `code`; docs/errors.md lists the codes. */
export class RelayProblem extends Error {
  override readonly name = 'RelayProblem';

  constructor(
    readonly status: number,
    /** The problem details from the relay; undefined if something else answered, such as a proxy. */
    readonly problem: Problem | undefined,
    /** Seconds to wait before the next try, from `Retry-After`; undefined without this header. */
    readonly retryAfterSeconds: number | undefined,
  ) {
    super(problem === undefined ? `the relay answered ${status}` : `${problem.title}: ${problem.detail}`);
  }

  /** The error code, for example `conflict`; undefined if the response has no problem details from the relay. */
  get code(): string | undefined {
    return this.problem?.type.split('#')[1];
  }
}

/** The relay refused to issue an access token. The reason is an error of RFC 6749 section 5.2, such as `invalid_client`. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';

  constructor(
    readonly status: number,
    /** Undefined if something other than the relay answered. */
    readonly error: OAuthError['error'] | undefined,
    /** Seconds to wait before the next try, from `Retry-After`; undefined without this header. */
    readonly retryAfterSeconds: number | undefined,
  ) {
    super(`no access token: ${error ?? `answered ${status}`}`);
  }
}

/** The stream is closed after this silence. The relay sends something every 15 s. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** Values that `RelayClient.listen` yields. */
export type Heard =
  /** Sent after the first connection and after each reconnection. */
  | ({ readonly kind: 'open' } & ListenEventData<'open'>)
  | {
      readonly kind: 'delivery';
      readonly id: string;
      readonly type: string;
      /** The headers of a delivery, signed with the secret of `open`. */
      readonly headers: Readonly<Record<string, string>>;
      /** The bytes of the envelope. */
      readonly body: Buffer;
    }
  /** Envelopes that were accepted in this period may be missing. */
  | ({ readonly kind: 'skipped' } & ListenEventData<'skipped'>)
  /** The stream was interrupted. It is resumed after `waitMs`, from its last event. */
  | { readonly kind: 'cut'; readonly reason: string; readonly waitMs: number };

/** Opens the stream after the event with this id. */
type Connect = (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;

/**
 * Yields the events of a stream. Reconnects after every interruption, from the last event, until the signal is aborted.
 * @throws the error of `connect` before the first event; later only errors that a new connection cannot cure
 */
export async function* listen(connect: Connect, ended: AbortSignal): AsyncGenerator<Heard> {
  let [place, failures]: [string | undefined, number] = [undefined, 0];
  while (!ended.aborted) {
    let reason = 'the connection ended';
    let retryAfterMs = 0;
    const silence = new AbortController();
    const signal = AbortSignal.any([ended, silence.signal]);
    const watched = () => setTimeout(() => silence.abort(new Error('the relay is silent')), SILENCE_MS);
    let watch = watched();
    try {
      const { body } = await connect(place, signal);
      for await (const event of eventsIn((body ?? []) as AsyncIterable<Uint8Array>)) {
        // Only timers of Node have `refresh`, so a new timer is set.
        clearTimeout(watch);
        watch = watched();
        failures = 0;
        if (event.name === 'end') {
          const end = ListenEvents.end.parse(JSON.parse(event.data));
          if (end.reason === 'replaced') throw new StreamReplaced(end.detail);
          reason = end.detail;
        } else yield* heardIn(event);
        place = event.id === '' ? place : event.id;
      }
    } catch (error) {
      if (ended.aborted) return;
      if (place === undefined || isFinal(error)) throw error;
      reason = reasonOf(error);
      retryAfterMs =
        'retryAfterSeconds' in Object(error) ? ((error as RelayProblem).retryAfterSeconds ?? 0) * 1_000 : 0;
    } finally {
      clearTimeout(watch);
      silence.abort();
    }
    const backOffMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (1 + Math.random());
    const waitMs = Math.round(Math.max(retryAfterMs, backOffMs));
    failures += 1;
    yield { kind: 'cut', reason, waitMs };
    await delay(waitMs, undefined, { signal: ended }).catch(() => undefined);
  }
}

function* heardIn({ name, data }: StreamEvent): Generator<Heard> {
  if (data === '') return;
  const value: unknown = JSON.parse(data);
  if (name === 'open') yield { kind: 'open', ...ListenEvents.open.parse(value) };
  if (name === 'skipped') yield { kind: 'skipped', ...ListenEvents.skipped.parse(value) };
  if (name !== 'delivery') return;
  const { body, ...delivery } = ListenEvents.delivery.parse(value);
  yield { kind: 'delivery', ...delivery, body: Buffer.from(body) };
}

/**
 * The partner opened another stream, which replaced this one. Connecting again ends the other stream, so this stream gives
 * up.
 */
class StreamReplaced extends Error {}

const isFinal = (error: unknown): boolean =>
  error instanceof StreamReplaced ||
  ((error instanceof RelayProblem || error instanceof TokenRefused) && [400, 401, 403, 404].includes(error.status));

/** Returns the message of the cause, because `fetch` puts the reason there. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

/** One block of an event stream. A block without data only sets the id. */
export interface StreamEvent {
  readonly name: string;
  readonly data: string;
  /** The last id that was sent, in this block or before it. */
  readonly id: string;
}

/** A line that is longer than this cannot be part of an event from the relay. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * Reads server-sent events (WHATWG HTML, section 9.2.6). Yields each event as soon as it is complete.
 * @throws Error if a line is too long
 */
export async function* eventsIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let [rest, name, id] = ['', '', ''];
  let data: string[] = [];
  for await (const part of bytes) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MOST_CHARACTERS) throw new Error('What the relay sent is no event');
    for (const line of lines.map((each) => (each.endsWith('\r') ? each.slice(0, -1) : each))) {
      if (line === '') {
        yield { name, data: data.join('\n'), id };
        [name, data] = ['', []];
        continue;
      }
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (field === 'id') id = value;
      else if (field === 'event') name = value;
      else if (field === 'data') data.push(value);
    }
  }
}
