import { IN_A_ROW, type Tally } from '@relay/breaker';
import type { Reach } from '@relay/delivery';
import type { Webhook } from '@relay/webhooks';

/** Milliseconds after a failure during which all attempts are counted, including successful ones. */
const COUNTED_MS = 60_000;

interface Counting {
  succeeded: number;
  failed: number;
  row: number;
  heldUntil: number;
  lastFailedAt: number;
}

/** Attempts since this worker's last report, by breaker. Only breakers with a recent failure are counted. */
export class FailureCounts {
  readonly #counting = new Map<string, Counting>();

  /**
   * Counts an attempt for a breaker.
   * @param heldUntil epoch milliseconds before which the endpoint wants no further attempt
   * @returns whether to report at once, because an endpoint that fails fast would otherwise get many attempts before the
   *   next report
   */
  add(key: string, failed: boolean, heldUntil: number, now: number): boolean {
    let counting = this.#counting.get(key);
    if (!failed) {
      if (counting === undefined) return false;
      counting.succeeded += 1;
      counting.row = 0;
      return false;
    }
    if (counting === undefined)
      this.#counting.set(key, (counting = { succeeded: 0, failed: 0, row: 0, heldUntil: 0, lastFailedAt: now }));
    counting.failed += 1;
    counting.row += 1;
    counting.lastFailedAt = now;
    counting.heldUntil = Math.max(counting.heldUntil, heldUntil);
    return counting.row % IN_A_ROW === 0;
  }

  /** Yields the keys of the breakers with a `Retry-After`, and the epoch milliseconds at which it ends. */
  *held(now: number): Generator<readonly [key: string, until: number]> {
    for (const [key, { heldUntil }] of this.#counting) if (heldUntil > now) yield [key, heldUntil];
  }

  /** Reports all counts. If `take` returns false, the counts are added to the next report. */
  async report(now: number, take: (key: string, tally: Tally, heldUntil: number) => Promise<boolean>): Promise<void> {
    await Promise.all(
      [...this.#counting].map(async ([key, { succeeded, failed, row, heldUntil, lastFailedAt }]) => {
        if (succeeded + failed === 0) {
          if (now - lastFailedAt > COUNTED_MS) this.#counting.delete(key);
          return;
        }
        this.#counting.set(key, { succeeded: 0, failed: 0, row: 0, heldUntil, lastFailedAt });
        if (await take(key, { succeeded, failed, row }, heldUntil)) return;
        const since = this.#counting.get(key);
        if (since === undefined) return;
        since.row = since.succeeded > 0 ? since.row : row + since.failed;
        since.succeeded += succeeded;
        since.failed += failed;
      }),
    );
  }
}

/** Milliseconds without an attempt after which an endpoint is removed from memory. */
const REMEMBERED_MS = 600_000;

interface Seen {
  endedAt: number;
  /** Time of the last answer of the endpoint, with any status. */
  answeredAt: number;
  /** Breaker key of the first attempt without an answer since `answeredAt`. */
  silent: string | undefined;
  /** Whether an attempt of another webhook got no answer either. */
  areSeveral: boolean;
}

/**
 * Decides which attempts without an answer count as a failure of the whole origin, and not only of their webhook's path. An
 * attempt counts if there was no connection. An attempt that was sent but got no answer counts only if the origin answered
 * no other attempt during that time and was silent to several webhooks.
 */
export class OriginReach {
  readonly #seen = new Map<string, Seen>();
  #forgotAt = 0;

  /** Records the end of an attempt. @returns whether the attempt counts as a failure of the origin */
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

  /** Removes endpoints without a recent attempt. Must be called regularly. */
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
