import type { TimedConnector } from '@relay/egress';
import type { AttemptTiming } from '@relay/events';
import type { AnswerHead } from './answer-reader.js';
import { KEPT_BYTES } from './endpoint-answer.js';
import { HttpConnections, type AskTimes, type HttpConnection } from './http-connections.adapter.js';
import { httpFailure, type AttemptResult, type Failure } from './outcome.js';
import { requestBytes, type DeliveryRequest } from './request.js';
import { Sender } from './sender.js';

export interface HttpSenderSettings {
  /**
   * Milliseconds that an attempt may take, including the wait for a connection, unless its request has its own timeout;
   * default 15,000.
   */
  readonly timeoutMs?: number;
  /** Maximum connections of one partner to one origin; default 64. */
  readonly connectionsPerOrigin?: number;
  /** Milliseconds that an unused connection stays open; default 10,000. */
  readonly keepAliveMs?: number;
  /** Whether results contain the headers and the beginning of the body of a response; default false. */
  readonly keepsAnswers?: boolean;
}

/**
 * Sends requests over HTTP/1.1 through the given connector, which must be the guarded connector of `@relay/egress`.
 * Redirects are not followed, bodies are not decompressed, and proxy variables of the environment are ignored.
 */
export class HttpSender extends Sender {
  readonly #connections: HttpConnections;
  readonly #timeoutMs: number;
  #running = 0;
  #whenIdle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(connect: TimedConnector, settings: HttpSenderSettings = {}) {
    super();
    this.#timeoutMs = settings.timeoutMs ?? 15_000;
    this.#connections = new HttpConnections(connect, {
      perOrigin: settings.connectionsPerOrigin ?? 64,
      maxIdle: 1_024,
      keepAliveMs: settings.keepAliveMs ?? 10_000,
      headBytes: 16_384,
      bodyBytes: 16_384,
      interimAnswers: 16,
      keptBytes: settings.keepsAnswers === true ? KEPT_BYTES : 0,
    });
  }

  send(request: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult> {
    if (this.#closed !== undefined)
      return Promise.resolve({ kind: 'failed', error: 'unknown', detail: 'the sender is closed', durationMs: 0 });
    this.#running += 1;
    return new Promise((resolve) => {
      const ended = (result: AttemptResult): void => {
        resolve(result);
        this.#running -= 1;
        if (this.#running === 0) this.#whenIdle?.();
      };
      new HttpExchange(this.#connections, request, request.timeoutMs ?? this.#timeoutMs, signal, ended).begin();
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#shut();
    return this.#closed;
  }

  async #shut(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    this.#connections.close();
  }
}

/** Maximum characters kept of a `Retry-After` header. No valid date is longer. */
const MAX_RETRY_AFTER = 64;
/** Maximum attempts that `expire` ends in one turn of the event loop because their deadline has passed. */
const MAX_EXPIRED_PER_TURN = 8;
/**
 * An attempt that took at least this many ms reports its timing even if it succeeded. A failed attempt always reports it.
 */
const SLOW_MS = 1_000;

/**
 * One request and its response. It ends when the response has been read, the body is too long, an error occurs, the deadline
 * passes, or the attempt is aborted. If the final status has arrived by then, the status is the result.
 *
 * An endpoint may close a kept connection while a request is written to it. If no byte of a response has come, the request
 * is sent once more on a new socket. RFC 9110 section 9.2.2 forbids this only if the client cannot know that repeating is
 * safe. Here it is safe, because deliveries are made at least once anyway, with the same id.
 */
export class HttpExchange {
  /** Whether the exchange has ended and needs no connection any more. */
  settled = false;
  readonly #startedAt = performance.now();
  readonly #deadline: NodeJS.Timeout;
  #connection: HttpConnection | undefined;
  #bytes: Buffer | undefined;
  #times: AskTimes | undefined;
  #head: AnswerHead | undefined;
  #body: { readonly kept: Buffer } | undefined;

  constructor(
    private readonly connections: HttpConnections,
    private readonly request: DeliveryRequest,
    timeoutMs: number,
    private readonly signal: AbortSignal | undefined,
    private readonly resolve: (result: AttemptResult) => void,
  ) {
    this.#deadline = setTimeout(expire, timeoutMs, this, timeoutMs);
  }

  begin(): void {
    if (this.signal?.aborted === true) return this.fail(ABORTED);
    this.signal?.addEventListener('abort', this);
    const { url } = this.request;
    const slash = url.indexOf('/', 8); // the first slash after `https://`; the URL is normalised
    const origin = slash === -1 ? url : url.slice(0, slash);
    try {
      this.#bytes = requestBytes(
        origin.slice(origin.indexOf('//') + 2),
        slash === -1 ? '/' : url.slice(slash),
        this.request,
      );
      this.connections.take(this.request.partnerId, origin, this);
    } catch (fault) {
      this.fail(httpFailure(fault));
    }
  }

  /** Sends the request on this connection. */
  start(connection: HttpConnection): void {
    this.#connection = connection;
    if (this.#bytes === undefined) return;
    this.#times = { beganAt: performance.now(), isReused: connection.answers > 0 };
    connection.ask(this.#bytes, this, this.#times);
  }

  /** Ends the attempt at once. If the final status has arrived, it is the result instead of the failure. */
  fail(failure: Failure): void {
    this.#settle(failure);
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) this.connections.drop(connection);
  }

  expired(timeoutMs: number): void {
    const { isReused = false, openedAt, firstByteAt } = this.#times ?? {};
    const missing =
      this.#times === undefined
        ? 'no connection was free'
        : firstByteAt !== undefined
          ? 'the head of the answer was not complete'
          : isReused || openedAt !== undefined
            ? 'no answer'
            : 'no connection';
    this.fail({ error: 'timeout', detail: `${missing} within ${timeoutMs} ms` });
  }

  handleEvent(): void {
    this.fail(ABORTED);
  }

  /** @param body the beginning of the body, which grows until the response has ended; undefined if bodies are not kept */
  answered(head: AnswerHead, body: { readonly kept: Buffer } | undefined): void {
    this.#head = head;
    this.#body = body;
  }

  /** Called when the response has ended, or when as much of it was read as the reader's limits allow. */
  ended(isReusable: boolean): void {
    if (!isReusable || this.#connection === undefined) return this.fail(NO_STATUS);
    this.#settle(NO_STATUS);
    this.connections.giveBack(this.#connection);
  }

  /** @param isAnswered whether a byte of a response came before the fault */
  broke(fault: unknown, isAnswered: boolean): void {
    const connection = this.#connection;
    const failure = httpFailure(fault);
    if (failure.error === 'reset' && !isAnswered && connection !== undefined && connection.answers > 0)
      this.start(this.connections.renew(connection));
    else this.fail(failure);
  }

  #settle(otherwise: Failure): void {
    if (this.settled) return;
    this.settled = true;
    clearTimeout(this.#deadline);
    this.signal?.removeEventListener('abort', this);
    const endedAt = performance.now();
    const durationMs = Math.round(endedAt - this.#startedAt);
    const [head, body] = [this.#head, this.#body];
    const isGood = head !== undefined && head.status >= 200 && head.status < 300;
    const timing = isGood && durationMs < SLOW_MS ? {} : { timing: this.#timing(endedAt) };
    if (head === undefined) {
      const isWritten = this.#times?.isReused === true || this.#times?.openedAt !== undefined;
      const written = this.#bytes === undefined ? {} : { isWritten };
      return this.resolve({ kind: 'failed', ...otherwise, ...written, durationMs, ...timing });
    }
    const { status, retryAfter, contentType, text } = head;
    this.resolve({
      kind: 'answered',
      status,
      durationMs,
      ...(retryAfter === undefined ? {} : { retryAfter: retryAfter.slice(0, MAX_RETRY_AFTER) }),
      ...(body === undefined ? {} : { answer: { contentType, head: text, bytes: () => body.kept } }),
      ...timing,
    });
  }

  /** Returns how long each step took. A step that was skipped or did not end has no time. */
  #timing(endedAt: number): AttemptTiming {
    if (this.#times === undefined) return { reused: false };
    const { beganAt, isReused, resolvedAt, connectedAt, openedAt } = this.#times;
    const { firstByteAt = this.#head === undefined ? undefined : endedAt } = this.#times;
    return {
      reused: isReused,
      waitMs: Math.round(beganAt - this.#startedAt),
      ...step('dnsMs', beganAt, resolvedAt),
      ...step('connectMs', resolvedAt ?? beganAt, connectedAt),
      ...step('tlsMs', connectedAt, this.request.url.startsWith('https:') ? openedAt : undefined),
      ...step('firstByteMs', isReused ? beganAt : openedAt, firstByteAt),
    };
  }
}

const step = (name: keyof AttemptTiming, from: number | undefined, to: number | undefined): Partial<AttemptTiming> =>
  from === undefined || to === undefined ? {} : { [name]: Math.round(to - from) };

const ABORTED: Failure = { error: 'unknown', detail: 'the attempt was aborted' };
// This failure never becomes the result, because an exchange ends this way only after its status has arrived.
const NO_STATUS: Failure = { error: 'protocol', detail: 'answer without a status' };

/** Attempts of all senders of this process whose deadline has passed and that have not been ended yet. */
const overdue: [exchange: HttpExchange, timeoutMs: number][] = [];

/**
 * Ends an attempt whose deadline has passed. Attempts that began together expire together. If there are many, ending all of
 * them in one turn of the event loop would delay other work by 0.1 s. So only a few are ended in each turn.
 */
function expire(exchange: HttpExchange, timeoutMs: number): void {
  if (overdue.push([exchange, timeoutMs]) === 1) setImmediate(endSome);
}

function endSome(): void {
  for (const [exchange, timeoutMs] of overdue.slice(0, MAX_EXPIRED_PER_TURN))
    if (!exchange.settled) exchange.expired(timeoutMs);
  overdue.splice(0, MAX_EXPIRED_PER_TURN);
  if (overdue.length > 0) setImmediate(endSome);
}
