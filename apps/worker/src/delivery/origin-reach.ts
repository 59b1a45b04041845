import type { Reach } from '@relay/delivery';
import type { Webhook } from '@relay/webhooks';

/** An endpoint without an attempt for this long is forgotten. */
const REMEMBERED_MS = 600_000;

interface Seen {
  endedAt: number;
  /** When the origin answered last, whatever it answered. */
  answeredAt: number;
  /** Whose attempt was the first without an answer since then, and whether there was one of another webhook as well. */
  silent: string | undefined;
  areSeveral: boolean;
}

/**
 * Which attempts without an answer say something about the origin, and not only about their webhook's path: those that got no
 * connection, and those that waited in vain while the origin answered to none of its webhooks and was silent to several.
 */
export class OriginReach {
  readonly #seen = new Map<string, Seen>();
  #forgotAt = 0;

  /** Notes how an attempt ended. @returns whether it counts as a failure of its origin */
  isFailure(
    { endpoint, breakerKey }: Pick<Webhook, 'endpoint' | 'breakerKey'>,
    reach: Reach,
    durationMs: number,
    now: number,
  ): boolean {
    if (reach === 'unmade') return false;
    const seen = this.#of(endpoint);
    seen.endedAt = now;
    if (reach === 'answered') {
      seen.answeredAt = now;
      seen.silent = undefined;
      seen.areSeveral = false;
      return false;
    }
    if (reach === 'silent' && seen.answeredAt >= now - durationMs) return false;
    if (seen.silent === undefined) seen.silent = breakerKey;
    else if (seen.silent !== breakerKey) seen.areSeveral = true;
    return reach === 'unreached' || seen.areSeveral;
  }

  /** To be called regularly. */
  forget(now: number): void {
    if (Math.abs(now - this.#forgotAt) < REMEMBERED_MS) return;
    this.#forgotAt = now;
    for (const [endpoint, { endedAt }] of this.#seen) if (now - endedAt >= REMEMBERED_MS) this.#seen.delete(endpoint);
  }

  #of(endpoint: string): Seen {
    let seen = this.#seen.get(endpoint);
    if (seen === undefined)
      this.#seen.set(endpoint, (seen = { endedAt: 0, answeredAt: -Infinity, silent: undefined, areSeveral: false }));
    return seen;
  }
}
