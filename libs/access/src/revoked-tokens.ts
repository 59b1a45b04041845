import type { RevocationStore } from './revocation-store.port.js';
import { Revocations, type SingleRevocation } from './revocations.js';

/** Tokens a client can end one by one within the life of a token. What a process remembers of a client is bounded by it. */
const SINGLES_OF_CLIENT = 1_000;

/**
 * Revoked access tokens as this process remembers them, so that checking a token costs no round trip. A revocation counts in
 * this process at once, in every other at its next `refresh`; while the store is away, those read before still count.
 */
export class RevokedTokens {
  /** The latest revocation of a client that is under way: one at a time, each has to know of those before. */
  readonly #underWay = new Map<string, Promise<void>>();
  #place: string | undefined;

  constructor(
    private readonly store: RevocationStore,
    private readonly now: () => number,
    private readonly known = new Revocations(SINGLES_OF_CLIENT),
  ) {}

  has(token: { readonly clientId: string; readonly jti: string; readonly issuedAtS: number }): boolean {
    return this.known.has(token);
  }

  /** Every token of the client that was issued before has ended, epoch seconds. */
  notBeforeS(clientId: string): number {
    return this.known.notBeforeS(clientId);
  }

  /** Rejects while the store is away: the token may then still be taken. */
  async revoke(token: Omit<SingleRevocation, 'kind'>): Promise<void> {
    const { clientId } = token;
    const before = this.#underWay.get(clientId) ?? Promise.resolve();
    const own = before.catch(() => undefined).then(() => this.#revoke({ kind: 'single', ...token }));
    this.#underWay.set(clientId, own);
    try {
      await own;
    } finally {
      if (this.#underWay.get(clientId) === own) this.#underWay.delete(clientId);
    }
  }

  async #revoke(token: SingleRevocation): Promise<void> {
    if (this.known.has(token)) return;
    const { revocation, replaced } = this.known.plan(token);
    const place = await this.store.add(revocation, replaced);
    this.known.add({ revocation, place });
  }

  /** To be called every few seconds. Forgets tokens that ended by themselves. Rejects while the store is away. */
  async refresh(): Promise<void> {
    for (;;) {
      const before = this.#place;
      const { revocations, next } = await this.store.read(this.#place);
      for (const entry of revocations) this.known.add(entry);
      this.#place = next;
      if (next === before) break;
    }
    this.known.forget(this.now() / 1_000);
  }
}
