import type { AttemptRecord } from '@relay/events';
import { IdSet } from './id-set.js';

/** The place of a delivery in its schedule. */
export interface Standing {
  /** Attempts made. */
  readonly attempts: number;
  /** Epoch milliseconds of the first logged attempt. */
  readonly begunAt: number;
  /** Epoch milliseconds of the next attempt. */
  readonly nextAt: number;
  readonly lastFailure?: string;
}

/**
 * The outcomes of deliveries in the attempt log. A dead letter is final by its own record, not by the attempt that
 * caused it; without that record one more attempt creates it again.
 */
export class Outcomes {
  readonly #final = new IdSet();
  /** Deliveries without a final outcome. */
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

  /** Undefined without a logged attempt. */
  standingOf(id: string): Standing | undefined {
    return this.#standing.get(id);
  }
}

/** 0 for a missing or invalid time. */
const timeOf = (text = ''): number => Date.parse(text) || 0;
