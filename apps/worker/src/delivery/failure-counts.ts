import { IN_A_ROW, type Tally } from '@relay/breaker';

/** How long attempts are counted after a failure, successes included. */
const COUNTED_MS = 60_000;

interface Counting {
  succeeded: number;
  failed: number;
  row: number;
  heldUntil: number;
  lastFailedAt: number;
}

/** What this worker has counted for each breaker since its last report: nothing where nothing has failed lately. */
export class FailureCounts {
  readonly #counting = new Map<string, Counting>();

  /**
   * Counts an attempt for a breaker.
   * @param heldUntil epoch milliseconds before which no attempt was asked for
   * @returns whether it is to be reported at once: an endpoint that refuses would get many attempts before the next report
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

  /** Keys of webhooks that asked for rest, and until when. */
  *held(now: number): Generator<readonly [key: string, until: number]> {
    for (const [key, { heldUntil }] of this.#counting) if (heldUntil > now) yield [key, heldUntil];
  }

  /** Reports all counts; those that are not taken are counted again. */
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
