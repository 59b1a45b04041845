import type { RevocationStore } from './revocation-store.port.js';
import { Revocations, type SingleRevocation } from './revocations.js';

/** Tokens that a client can revoke one by one within the lifetime of a token. It bounds the memory for one client. */
const SINGLES_OF_CLIENT = 1_000;

/**
 * Revoked access tokens in the memory of this process, so that checking a token costs no round trip. A revocation takes effect in
 * this process at once and in every other at its next `refresh`; while the store is away, the known ones keep their effect.
 */
export class RevokedTokens {
  /** The latest revocation under way of a client: one at a time, since each depends on those before. */
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

  /** Every token of the client issued before this time has ended, epoch seconds. */
  notBeforeS(clientId: string): number {
    return this.known.notBeforeS(clientId);
  }

  /** Rejects while the store is away: the token may then still be valid. */
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

  /** The process calls it every few seconds. Drops expired tokens. Rejects while the store is away. */
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
