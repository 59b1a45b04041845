import { IN_A_ROW, type Tally } from '@relay/breaker';

/** Time in ms for which attempts are counted after a failure, successes included. */
const COUNTED_MS = 60_000;

interface Counting {
  succeeded: number;
  failed: number;
  row: number;
  heldUntil: number;
  lastFailedAt: number;
}

/** This worker's counts for each breaker since its last report. A breaker without a recent failure is not counted. */
export class FailureCounts {
  readonly #counting = new Map<string, Counting>();

  /**
   * Counts an attempt for a breaker.
   * @param heldUntil epoch milliseconds before which the endpoint asked for no attempt
   * @returns whether to report at once: otherwise an endpoint that refuses gets many attempts before the next report
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

  /** Yields the keys of webhooks that asked for rest, and when it ends. */
  *held(now: number): Generator<readonly [key: string, until: number]> {
    for (const [key, { heldUntil }] of this.#counting) if (heldUntil > now) yield [key, heldUntil];
  }

  /** Reports all counts; counts that `take` refuses are added back. */
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
