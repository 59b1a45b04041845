import type { AttemptRecord } from '@relay/events';
import { IdSet } from './id-set.js';

/** Where a delivery stands in its schedule. */
export interface Standing {
  /** Attempts made. */
  readonly attempts: number;
  /** Epoch milliseconds of the next. */
  readonly nextAt: number;
  readonly lastFailure?: string;
}

/**
 * What the attempt log says became of deliveries. A dead letter is final by its letter, not by the attempt that made it one:
 * where that letter was never told, one more attempt brings it about again.
 */
export class Outcomes {
  readonly #final = new IdSet();
  /** Only deliveries in trouble: those without a final outcome. */
  readonly #standing = new Map<string, Standing>();

  take(record: AttemptRecord): void {
    const { deliveryId: id, outcome } = record;
    if (outcome === 'delivered' || outcome === 'cancelled') {
      this.#final.add(id);
      this.#standing.delete(id);
      return;
    }
    if (this.#final.has(id)) return;
    const attempts = Math.max(record.attempt ?? 0, this.#standing.get(id)?.attempts ?? 0);
    const nextAt = record.nextAt === undefined ? 0 : Date.parse(record.nextAt);
    this.#standing.set(id, {
      attempts,
      nextAt: Number.isNaN(nextAt) ? 0 : nextAt,
      ...(record.detail === undefined ? {} : { lastFailure: record.detail }),
    });
  }

  isFinal(id: string): boolean {
    return this.#final.has(id);
  }

  /** Undefined when no attempt was told. */
  standingOf(id: string): Standing | undefined {
    return this.#standing.get(id);
  }
}
