import type { AttemptRecord } from '@relay/events';
import { standingAfter, type Standing } from '@relay/retry';
import { IdSet } from './id-set.js';

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
    this.#standing.set(id, standingAfter(record, this.#standing.get(id)));
  }

  isFinal(id: string): boolean {
    return this.#final.has(id);
  }

  /** Undefined without a logged attempt. */
  standingOf(id: string): Standing | undefined {
    return this.#standing.get(id);
  }
}
