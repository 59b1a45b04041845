import { TokenRefused } from './errors.js';
import { parsed } from './parsed.js';
import { retryAfterSeconds } from './retry-after.js';

/** The time before its expiry at which a token is renewed; a shorter-lived token at nine tenths of its lifetime. */
const MARGIN_MS = 60_000;

interface Token {
  readonly text: string;
  /** Milliseconds of the same clock as `now`. */
  readonly renewAt: number;
}

/** The access token of one client by OAuth's client credentials; concurrent callers share one request. */
export class AccessToken {
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
