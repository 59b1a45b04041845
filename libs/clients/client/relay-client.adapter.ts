import type { Problem } from './api.gen.js';
import { RelayProblem, TokenRefused, listen, type Heard } from './listen.js';
import { OPERATIONS, type Operations } from './operations.gen.js';

export interface RelayClientSettings {
  /** Base URL of the relay, such as `https://relay.example`. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Bound of one request, its answer included; 30,000 unless given. */
  readonly timeoutMs?: number;
  /** Sends instead of the global `fetch`: to go through a proxy, or to record. */
  readonly fetch?: typeof fetch;
  /** Milliseconds since 1970; `Date.now` unless given. */
  readonly now?: () => number;
}

type Arguments<Name extends OperationName> =
  Partial<Input<Name>> extends Input<Name> ? [input?: Input<Name>] : [input: Input<Name>];

interface Authorized {
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string;
  /** Instead of the bound of time. */
  readonly signal?: AbortSignal;
}

export interface ListenInput {
  /** All event types without it. */
  readonly types?: readonly string[];
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** A partner's or source's access to a relay: every operation of docs/openapi.json that takes an access token. */
export class RelayClient {
  readonly #base: URL;
  readonly #token: AccessToken;
  readonly #fetch: typeof fetch;
  readonly #now: () => number;
  readonly #timeoutMs: number;

  /** @throws TypeError for a `url` that is none */
  constructor({ url, clientId, clientSecret, timeoutMs = 30_000, fetch: given, now = Date.now }: RelayClientSettings) {
    this.#base = new URL(url);
    // Called without the client as `this`, which workerd refuses.
    this.#fetch = given ?? ((...request) => fetch(...request));
    this.#now = now;
    this.#timeoutMs = timeoutMs;
    // Ids and secrets of the relay need none of the form-encoding of RFC 6749 section 2.3.1.
    const basic = `Basic ${btoa(`${clientId}:${clientSecret}`)}`;
    const tokenUrl = new URL(`${this.#base.pathname.replace(/\/$/, '')}/auth/token`, this.#base);
    this.#token = new AccessToken(tokenUrl, basic, (...request) => this.#send(...request), now);
  }

  /**
   * Calls one operation and returns the body of its answer.
   * @throws RelayProblem when the relay refuses, TokenRefused when the credentials are wrong, and what `fetch` throws when
   * it is out of reach: a request that changes something may still have been done
   */
  async call<Name extends OperationName>(name: Name, ...input: Arguments<Name>): Promise<Success<Name>> {
    return (await this.request(name, ...input)).body;
  }

  /** As `call`, with what else the answer has: `etag` for `If-Match`, `link` for the next page, `location`. */
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
   * Yields the envelopes for you of these event types, from now on and until the signal, over a connection that this side opens. No
   * webhook is needed. A cut loses no envelope: the stream goes on from its last event.
   * @throws what `call` throws before the first event, and later if the relay refuses for good
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
    // The token was revoked or its key removed: one more try with a new token decides.
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

  // The relay never redirects: a redirect passes the credentials to another host, so it is refused. workerd has no `error`.
  async #send(url: URL, init: RequestInit): Promise<Response> {
    const signal = init.signal ?? AbortSignal.timeout(this.#timeoutMs);
    return this.#fetch(url, { ...init, redirect: 'manual', signal });
  }
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'type' in body && 'status' in body;

/** The time before its expiry at which a token is renewed; a shorter-lived token at nine tenths of its lifetime. */
const MARGIN_MS = 60_000;

interface Token {
  readonly text: string;
  /** Milliseconds of the same clock as `now`. */
  readonly renewAt: number;
}

/** The access token of one client by OAuth's client credentials; concurrent callers share one request. */
class AccessToken {
  #current: Token | undefined;
  #coming: Promise<Token> | undefined;

  constructor(
    private readonly url: URL,
    /** `Basic …` */
    private readonly authorization: string,
    private readonly send: (url: URL, init: RequestInit) => Promise<Response>,
    private readonly now: () => number,
  ) {}

  /** @throws TokenRefused */
  async text(): Promise<string> {
    if (this.#current !== undefined && this.now() < this.#current.renewAt) return this.#current.text;
    // A failure reaches the callers that wait for it, and no later one.
    this.#coming ??= this.#fetch().finally(() => (this.#coming = undefined));
    return (await this.#coming).text;
  }

  /** Drops a token that the relay refused, unless another has replaced it. */
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

/** The input of an operation: those of `path`, `query`, `headers` and `body` that it has. */
export type Input<Name extends OperationName> = Given<Omit<Data<Name>, 'url'>>;

/** The body of its success; void if it has none. */
export type Success<Name extends OperationName> = Operations[Name]['responses'][keyof Operations[Name]['responses']];

type Members = Readonly<Record<string, string | undefined>>;

interface Parts {
  readonly path?: Members;
  readonly query?: Members;
  readonly headers?: Members;
  readonly body?: unknown;
}

/** The request of an operation, but for the access token. @throws TypeError when a part of its path is missing */
function requestOf(
  base: URL,
  name: OperationName,
  { path = {}, query = {}, headers = {}, body }: Parts,
): { url: URL; method: string; headers: Headers; body?: string } {
  const [method, template] = OPERATIONS[name];
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, part: string) => segment(part, path[part]));
  // The relay may be served below a path.
  const url = new URL(`${base.pathname.replace(/\/$/, '')}${filled}`, base);
  for (const [key, value] of defined(query)) url.searchParams.set(key, value);
  const all = new Headers(defined(headers));
  if (body === undefined) return { url, method, headers: all };
  all.set('content-type', 'application/json');
  return { url, method, headers: all, body: JSON.stringify(body) };
}

// An empty segment, or one of dots only, changes the path.
function segment(part: string, text = ''): string {
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`path.${part} is missing`);
  return encodeURIComponent(text);
}

const defined = (members: Members): [string, string][] =>
  Object.entries(members).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));

/** The value of a JSON text; undefined for any other text, such as the answer of a proxy. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Seconds that `Retry-After` (RFC 9110 section 10.2.3: seconds or a date) asks for; undefined without one. */
function retryAfterSeconds(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1_000));
}
