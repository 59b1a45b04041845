import { AccessToken } from './access-token.adapter.js';
import type { Problem } from './api.gen.js';
import { RelayProblem } from './errors.js';
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
    this.#fetch = given ?? fetch;
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
    let response = await this.#authorized(url, init);
    // The token was revoked or its key removed: one more try with a new token decides.
    if (response.status === 401) {
      await response.body?.cancel();
      response = await this.#authorized(url, init);
    }
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const body: unknown = isJson ? parsed(text) : undefined;
    const isWhole = body !== undefined || !isJson || text === '';
    if (response.ok && isWhole)
      return { status: response.status, headers: response.headers, body: body as Success<Name> };
    const problem = isProblem(body) ? body : undefined;
    throw new RelayProblem(response.status, problem, retryAfterSeconds(response.headers, this.#now()));
  }

  async #authorized(url: URL, init: { method: string; headers: Headers; body?: string }): Promise<Response> {
    const token = await this.#token.text();
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    const response = await this.#send(url, { ...init, headers });
    if (response.status === 401) this.#token.refused(token);
    return response;
  }

  // The relay never redirects: a redirect would give the credentials to another host.
  async #send(url: URL, init: RequestInit): Promise<Response> {
    return this.#fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(this.#timeoutMs) });
  }
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'type' in body && 'status' in body;
