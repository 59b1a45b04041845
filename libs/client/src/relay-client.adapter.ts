import { AccessToken } from './access-token.adapter.js';
import type { EventType } from '@relay/events';
import type { Problem } from './api.gen.js';
import { RelayProblem } from './errors.js';
import { listen, type Heard } from './listen.js';
import { requestOf, type Input, type OperationName, type Success } from './operation.js';
import { parsed } from './parsed.js';
import { retryAfterSeconds } from './retry-after.js';

export interface RelayClientSettings {
  /** Where the relay is, such as `https://relay.example`. */
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
  readonly types?: readonly EventType[];
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
   * Yields each envelope that a webhook of yours for one of these event types would get, from now on and until the signal, over
   * a connection of this side. A cut costs none: it goes on where it was.
   * @throws what `call` throws before the first event, and later where the relay refuses for good
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

  // The relay never redirects: a redirect would give the credentials to another host, and is a refusal here. workerd has no `error`.
  async #send(url: URL, init: RequestInit): Promise<Response> {
    const signal = init.signal ?? AbortSignal.timeout(this.#timeoutMs);
    return this.#fetch(url, { ...init, redirect: 'manual', signal });
  }
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'type' in body && 'status' in body;
