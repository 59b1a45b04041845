import type { Problem } from './api.gen.js';
import { RelayProblem, TokenRefused, listen, type Heard } from './listen.js';
import { OPERATIONS, type Operations } from './operations.gen.js';

export interface RelayClientSettings {
  /** Base URL of the relay, such as `https://relay.example`. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Timeout of one request including its response, in milliseconds; 30,000 by default. */
  readonly timeoutMs?: number;
  /** Used instead of the global `fetch`, for example to use a proxy or to record requests. */
  readonly fetch?: typeof fetch;
  /** Returns the time in epoch milliseconds; `Date.now` by default. */
  readonly now?: () => number;
}

type Arguments<Name extends OperationName> =
  Partial<Input<Name>> extends Input<Name> ? [input?: Input<Name>] : [input: Input<Name>];

interface Authorized {
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string;
  /** Used instead of the timeout. */
  readonly signal?: AbortSignal;
}

export interface ListenInput {
  /** All event types if absent. */
  readonly types?: readonly string[];
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/** A client of a relay for a partner or a source. It has every operation of docs/openapi.json that takes an access token. */
export class RelayClient {
  readonly #base: URL;
  readonly #token: AccessToken;
  readonly #fetch: typeof fetch;
  readonly #now: () => number;
  readonly #timeoutMs: number;

  /** @throws TypeError if `url` is not a valid URL */
  constructor({ url, clientId, clientSecret, timeoutMs = 30_000, fetch: given, now = Date.now }: RelayClientSettings) {
    this.#base = new URL(url);
    // The wrapper calls `fetch` without `this`; workerd refuses a call with the client as `this`.
    this.#fetch = given ?? ((...request) => fetch(...request));
    this.#now = now;
    this.#timeoutMs = timeoutMs;
    // The form-encoding of RFC 6749 section 2.3.1 is left out because it changes no character of the relay's ids and
    // secrets.
    const basic = `Basic ${btoa(`${clientId}:${clientSecret}`)}`;
    const tokenUrl = new URL(`${this.#base.pathname.replace(/\/$/, '')}/auth/token`, this.#base);
    this.#token = new AccessToken(tokenUrl, basic, (...request) => this.#send(...request), now);
  }

  /**
   * Calls one operation and returns the body of the response.
   * @throws RelayProblem if the relay refuses the request, TokenRefused if the relay issues no access token, or the error of
   *   `fetch` if the relay cannot be reached. After an error of `fetch`, the relay may still have made the requested change.
   */
  async call<Name extends OperationName>(name: Name, ...input: Arguments<Name>): Promise<Success<Name>> {
    return (await this.request(name, ...input)).body;
  }

  /**
   * Calls one operation like `call`, and also returns the status and the headers of the response: for example `etag` for
   * `If-Match`, `link` for the next page, and `location`.
   */
  async request<Name extends OperationName>(
    name: Name,
    ...[input]: Arguments<Name>
  ): Promise<{ status: number; headers: Headers; body: Success<Name> }> {
    const { url, ...init } = requestOf(this.#base, name, input ?? {});
    const response = await this.#answered(url, init);
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const body: unknown = isJson ? parsed(text) : undefined;
    const isWhole = body !== undefined || !isJson || text === '';
    if (response.ok && isWhole)
      return { status: response.status, headers: response.headers, body: body as Success<Name> };
    throw this.#problem(response, body);
  }

  /**
   * Yields the new envelopes of these event types that are meant for this partner, until the signal is aborted. The client
   * opens the connection, so no webhook is needed. After an interruption the stream is resumed from its last event, so no
   * envelope is lost.
   * @throws the errors of `call` before the first event; later only if the relay refuses permanently
   */
  listen({ types = [], signal }: ListenInput): AsyncGenerator<Heard> {
    const url = new URL(`${this.#base.pathname.replace(/\/$/, '')}/listen`, this.#base);
    if (types.length > 0) url.searchParams.set('type', types.join(','));
    return listen(async (lastEventId, connected) => {
      const headers = new Headers(lastEventId === undefined ? {} : { 'last-event-id': lastEventId });
      const response = await this.#answered(url, { method: 'GET', headers, signal: connected });
      if (response.ok) return response;
      throw this.#problem(response, parsed(await response.text()));
    }, signal);
  }

  #problem({ status, headers }: Response, body: unknown): RelayProblem {
    return new RelayProblem(status, isProblem(body) ? body : undefined, retryAfterSeconds(headers, this.#now()));
  }

  async #answered(url: URL, init: Authorized): Promise<Response> {
    const response = await this.#authorized(url, init);
    if (response.status !== 401) return response;
    // The token may have been revoked, or its key removed, so the request is tried once more with a new token.
    await response.body?.cancel();
    return this.#authorized(url, init);
  }

  async #authorized(url: URL, init: Authorized): Promise<Response> {
    const token = await this.#token.text();
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    const response = await this.#send(url, { ...init, headers });
    if (response.status === 401) this.#token.refused(token);
    return response;
  }

  // The relay never redirects. Redirects are not followed, because they could pass the credentials to another host. `manual`
  // is used because workerd does not support `error`.
  async #send(url: URL, init: RequestInit): Promise<Response> {
    const signal = init.signal ?? AbortSignal.timeout(this.#timeoutMs);
    return this.#fetch(url, { ...init, redirect: 'manual', signal });
  }
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'type' in body && 'status' in body;

/**
 * A token is renewed this long before it expires. A token that lives for less than ten minutes is renewed after nine tenths
 * of its lifetime.
 */
const MARGIN_MS = 60_000;

interface Token {
  readonly text: string;
  /** Epoch milliseconds by the clock `now`. */
  readonly renewAt: number;
}

/**
 * The access token of one client, from the client credentials grant of OAuth. Concurrent callers share one token request.
 */
class AccessToken {
  #current: Token | undefined;
  #coming: Promise<Token> | undefined;

  constructor(
    private readonly url: URL,
    /** The value of the header `authorization`: `Basic …`. */
    private readonly authorization: string,
    private readonly send: (url: URL, init: RequestInit) => Promise<Response>,
    private readonly now: () => number,
  ) {}

  /** @throws TokenRefused */
  async text(): Promise<string> {
    if (this.#current !== undefined && this.now() < this.#current.renewAt) return this.#current.text;
    // A failure rejects only the callers that are waiting now. A later caller sends a new request.
    this.#coming ??= this.#fetch().finally(() => (this.#coming = undefined));
    return (await this.#coming).text;
  }

  /** Forgets a token that the relay refused, unless it was already replaced. */
  refused(text: string): void {
    if (this.#current?.text === text) this.#current = undefined;
  }

  async #fetch(): Promise<Token> {
    const asked = this.now();
    const response = await this.send(this.url, { method: 'POST', headers: { authorization: this.authorization } });
    const answer = (parsed(await response.text()) ?? {}) as TokenAnswer;
    if (!response.ok || answer.access_token === undefined)
      throw new TokenRefused(response.status, answer.error, retryAfterSeconds(response.headers, asked));
    const lifeMs = (answer.expires_in ?? 0) * 1_000;
    this.#current = { text: answer.access_token, renewAt: asked + lifeMs - Math.min(MARGIN_MS, lifeMs / 10) };
    return this.#current;
  }
}

interface TokenAnswer {
  readonly access_token?: string;
  readonly expires_in?: number;
  readonly error?: TokenRefused['error'];
}

export type OperationName = keyof Operations;

type Data<Name extends OperationName> = Operations[Name]['data'];
type Given<T> = { [Member in keyof T as [T[Member]] extends [undefined] ? never : Member]: T[Member] };

/** The input of an operation. It has `path`, `query`, `headers` and `body` if the operation has them. */
export type Input<Name extends OperationName> = Given<Omit<Data<Name>, 'url'>>;

/** The body of a successful response; void if it has no body. */
export type Success<Name extends OperationName> = Operations[Name]['responses'][keyof Operations[Name]['responses']];

type Members = Readonly<Record<string, string | undefined>>;

interface Parts {
  readonly path?: Members;
  readonly query?: Members;
  readonly headers?: Members;
  readonly body?: unknown;
}

/** Returns the request of an operation without the access token. @throws TypeError if a parameter of the path is missing */
function requestOf(
  base: URL,
  name: OperationName,
  { path = {}, query = {}, headers = {}, body }: Parts,
): { url: URL; method: string; headers: Headers; body?: string } {
  const [method, template] = OPERATIONS[name];
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, part: string) => segment(part, path[part]));
  // The base URL may have a path.
  const url = new URL(`${base.pathname.replace(/\/$/, '')}${filled}`, base);
  for (const [key, value] of defined(query)) url.searchParams.set(key, value);
  const all = new Headers(defined(headers));
  if (body === undefined) return { url, method, headers: all };
  all.set('content-type', 'application/json');
  return { url, method, headers: all, body: JSON.stringify(body) };
}

// An empty segment, `.` or `..` changes the path, so it is refused.
function segment(part: string, text = ''): string {
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`path.${part} is missing`);
  return encodeURIComponent(text);
}

const defined = (members: Members): [string, string][] =>
  Object.entries(members).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));

/** Returns the value of a JSON text; undefined if the text is not JSON, such as the response of a proxy. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns the seconds to wait by `Retry-After`, which has seconds or a date (RFC 9110 section 10.2.3); undefined without
 * this header.
 */
function retryAfterSeconds(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1_000));
}
