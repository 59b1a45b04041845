import type { Reach } from '@relay/delivery';
import type { Webhook } from '@relay/webhooks';

/** Time in ms without an attempt after which an endpoint is forgotten. */
const REMEMBERED_MS = 600_000;

interface Seen {
  endedAt: number;
  /** Time of the origin's last answer, whatever its status. */
  answeredAt: number;
  /**
   * Breaker key of the first attempt without an answer since `answeredAt`. `areSeveral` says whether another webhook had one too.
   */
  silent: string | undefined;
  areSeveral: boolean;
}

/**
 * Decides which attempts without an answer say something about the origin, and not only about their webhook's path. These are
 * attempts that got no connection, and attempts that waited in vain while the origin answered none of its webhooks and was silent
 * to several.
 */
export class OriginReach {
  readonly #seen = new Map<string, Seen>();
  #forgotAt = 0;

  /** Records how an attempt ended. @returns whether it counts as a failure of its origin */
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

  /** Forgets endpoints without a recent attempt; called regularly. */
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
