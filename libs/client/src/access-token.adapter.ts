import { TokenRefused } from './errors.js';
import { parsed } from './parsed.js';
import { retryAfterSeconds } from './retry-after.js';

/** Renewed so long before its end, or at nine tenths of a life that is shorter than ten times this. */
const MARGIN_MS = 60_000;

interface Token {
  readonly text: string;
  /** Milliseconds of the same clock as `now`. */
  readonly renewAt: number;
}

/** The access token of one client by OAuth's client credentials: one request for all who ask at once. */
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
    // A failure is told to all who wait for it, and to nobody after them.
    this.#coming ??= this.#fetch().finally(() => (this.#coming = undefined));
    return (await this.#coming).text;
  }

  /** Says that the relay has refused this one; if another is there by now, that stays. */
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
