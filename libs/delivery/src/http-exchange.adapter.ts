import type { Dispatcher } from 'undici';
import type { Connection, HttpConnections, Taker } from './http-connections.adapter.js';
import { httpFailure, type Failure } from './http-failure.js';
import type { AttemptResult } from './outcome.js';
import type { DeliveryRequest } from './request.js';

// Bytes read of a body before the connection is dropped: enough to keep the connection of an ordinary endpoint.
const MAX_BODY_BYTES = 16_384;
// RFC 9110 section 15.2 sets no limit to interim responses; no honest endpoint sends more.
const MAX_INTERIM_RESPONSES = 16;
const MAX_RETRY_AFTER = 64;
const MAX_EXPIRED_PER_TURN = 8;

/**
 * One request and its answer. Ends by exactly one of: answer read, body too long, fault, deadline, abort. A final status that has
 * arrived by then is the result.
 *
 * An endpoint may close a kept connection while the request is written to it. Without a byte of an answer the request is sent
 * once more on a new socket: deliveries are at least once under the same id anyway (RFC 9110 section 9.2.2 forbids this only
 * where the client cannot know that repeating is safe).
 */
export class HttpExchange implements Dispatcher.DispatchHandler, Taker {
  settled = false;
  readonly #connections: HttpConnections;
  readonly #request: DeliveryRequest;
  readonly #resolve: (result: AttemptResult) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #startedAt = performance.now();
  readonly #deadline: NodeJS.Timeout;
  #connection: Connection | undefined;
  #path = '/';
  #isReused = false;
  #isAnswered = false;
  #interim = 0;
  #status = 0;
  #retryAfter: string | undefined;
  #bodyBytes = 0;

  constructor(
    connections: HttpConnections,
    request: DeliveryRequest,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    resolve: (result: AttemptResult) => void,
  ) {
    this.#connections = connections;
    this.#request = request;
    this.#resolve = resolve;
    this.#signal = signal;
    this.#deadline = setTimeout(expire, timeoutMs, this, timeoutMs);
  }

  begin(): void {
    const { url } = this.#request;
    const slash = url.indexOf('/', 8); // behind `https://`; the URL is the normalised one
    if (slash !== -1) this.#path = url.slice(slash);
    if (this.#signal?.aborted === true) return this.fail(ABORTED);
    this.#signal?.addEventListener('abort', this);
    try {
      this.#connections.take(slash === -1 ? url : url.slice(0, slash), this);
    } catch (fault) {
      this.fail(httpFailure(fault));
    }
  }

  start(connection: Connection): void {
    this.#connection = connection;
    this.#isReused = connection.answers > 0; // undici may fail a request before it is written
    const { method, headers, body } = this.#request;
    connection.client.dispatch({ path: this.#path, method, headers, body }, this);
  }

  /** Ends the attempt at once; a status that has arrived is the result. */
  fail(failure: Failure): void {
    this.#settle(failure);
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) this.#connections.drop(connection);
  }

  handleEvent(): void {
    this.fail(ABORTED);
  }

  onRequestStart(): void {
    this.#isReused = (this.#connection?.answers ?? 0) > 0;
  }

  onResponseStarted(): void {
    this.#isAnswered = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > MAX_INTERIM_RESPONSES) this.fail(TOO_MANY_INTERIM);
      return;
    }
    this.#status = status;
    if (this.#connection !== undefined) this.#connection.allowance += MAX_BODY_BYTES;
    const retryAfter = headers['retry-after'];
    const first: unknown = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
    if (typeof first === 'string') this.#retryAfter = first.slice(0, MAX_RETRY_AFTER);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > MAX_BODY_BYTES) this.fail(NO_HEAD);
  }

  onResponseEnd(): void {
    if (this.settled) return;
    this.#settle(NO_HEAD);
    if (this.#connection !== undefined) this.#connections.giveBack(this.#connection);
  }

  onResponseError(_: Dispatcher.DispatchController, fault: Error): void {
    if (this.settled) return;
    const failure = httpFailure(fault);
    if (failure.error === 'reset' && this.#isReused && !this.#isAnswered && this.#connection !== undefined) {
      this.#isReused = false;
      this.start(this.#connections.renew(this.#connection));
    } else this.fail(failure);
  }

  #settle(otherwise: Failure): void {
    if (this.settled) return;
    this.settled = true;
    clearTimeout(this.#deadline);
    this.#signal?.removeEventListener('abort', this);
    const durationMs = Math.round(performance.now() - this.#startedAt);
    const status = this.#status;
    if (status === 0) this.#resolve({ kind: 'failed', ...otherwise, durationMs });
    else if (this.#retryAfter === undefined) this.#resolve({ kind: 'answered', status, durationMs });
    else this.#resolve({ kind: 'answered', status, retryAfter: this.#retryAfter, durationMs });
  }
}

const ABORTED: Failure = { error: 'unknown', detail: 'the attempt was aborted' };
const TOO_MANY_INTERIM: Failure = { error: 'protocol', detail: 'too many interim responses' };
// The parser guarantees a status before a body, and the status is the result.
const NO_HEAD: Failure = { error: 'protocol', detail: 'answer without a status' };

/** Attempts of all senders of this process whose deadline has passed. */
const overdue: [exchange: HttpExchange, timeoutMs: number][] = [];

/**
 * Attempts that began together end together: the ends of attempts to many silent endpoints would delay all others for a tenth
 * of a second. So only a few end in one turn of the event loop, and other work runs in between.
 */
function expire(exchange: HttpExchange, timeoutMs: number): void {
  if (overdue.push([exchange, timeoutMs]) === 1) setImmediate(endSome);
}

function endSome(): void {
  for (const [exchange, timeoutMs] of overdue.slice(0, MAX_EXPIRED_PER_TURN))
    if (!exchange.settled) exchange.fail({ error: 'timeout', detail: `no answer within ${timeoutMs} ms` });
  overdue.splice(0, MAX_EXPIRED_PER_TURN);
  if (overdue.length > 0) setImmediate(endSome);
}
