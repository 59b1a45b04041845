import type { AttemptRecord } from '@relay/events';
import { IdSet } from './id-set.js';

/** Where a delivery stands in its schedule. */
export interface Standing {
  /** Attempts made. */
  readonly attempts: number;
  /** Epoch milliseconds of the first that was told. */
  readonly begunAt: number;
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
    const before = this.#standing.get(id);
    const attempts = Math.max(record.attempt ?? 0, before?.attempts ?? 0);
    const begunAt = Math.min(timeOf(record.at), before?.begunAt ?? Infinity);
    this.#standing.set(id, {
      attempts,
      begunAt,
      nextAt: timeOf(record.nextAt),
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

/** 0 for none, or one that cannot be read. */
const timeOf = (text = ''): number => Date.parse(text) || 0;
