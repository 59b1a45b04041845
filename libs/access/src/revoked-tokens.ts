import type { Revocation, RevocationStore } from './revocation-store.port.js';

/** Longer than any tolerance for clocks: a token is not forgotten while somebody may still take it. */
const KEPT_AFTER_END_S = 60;

/**
 * Revoked access tokens as this process remembers them, so that checking a token costs no round trip. A revocation counts in
 * this process at once, in every other at its next `refresh`; while the store is away, those read before still count.
 */
export class RevokedTokens {
  readonly #endsByJti = new Map<string, number>();
  #place: string | undefined;

  constructor(
    private readonly store: RevocationStore,
    private readonly now: () => number,
  ) {}

  has(jti: string): boolean {
    return this.#endsByJti.has(jti);
  }

  /** Rejects while the store is away: the token may then still be taken. */
  async revoke(revocation: Revocation): Promise<void> {
    await this.store.add(revocation);
    this.#endsByJti.set(revocation.jti, revocation.endsAtS);
  }

  /** To be called every few seconds. Forgets tokens that ended by themselves. Rejects while the store is away. */
  async refresh(): Promise<void> {
    for (;;) {
      const { revocations, next } = await this.store.read(this.#place);
      for (const { jti, endsAtS } of revocations) this.#endsByJti.set(jti, endsAtS);
      this.#place = next;
      if (revocations.length === 0) break;
    }
    const oldestS = this.now() / 1_000 - KEPT_AFTER_END_S;
    for (const [jti, endsAtS] of this.#endsByJti) if (endsAtS < oldestS) this.#endsByJti.delete(jti);
  }
}
