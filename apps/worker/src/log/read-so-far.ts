import type { ReadTo } from '@relay/progress';
import { newestOf } from './log-loss.js';

/** Earlier ids of a topic that are remembered: a broker that is behind may tell one of them. */
const KEPT_IDS = 4;

/** How far a partition was read, by this worker and by others before it, and of which log. */
export class ReadSoFar {
  #before: ReadTo = { next: 0, newest: 0 };
  #newest = 0;
  #topicIds: readonly string[] = [];

  /** @param next the next offset that this worker hands out; undefined before it has begun */
  to(next: number | undefined): ReadTo {
    return {
      next: Math.max(next ?? 0, this.#before.next),
      newest: Math.max(this.#newest, this.#before.newest),
      topicIds: this.#topicIds,
    };
  }

  /** The newest of the records that are handed out now. */
  saw(time: number): void {
    this.#newest = newestOf(this.#newest, time, Date.now());
  }

  /** Reading begins anew. @param before how far others, or this worker, have read */
  beginAfter({ next, newest, topicIds = [] }: ReadTo): void {
    this.#before = { next, newest };
    this.#newest = 0;
    if (topicIds.length > 0) this.#topicIds = topicIds.slice(0, KEPT_IDS);
  }

  /**
   * The log is that of this id, unless another is known. To be called with an id that was asked for before the first record was
   * fetched: a topic that is created anew after that has another id.
   */
  isOf(topicId: string | undefined): void {
    if (topicId !== undefined && this.#topicIds.length === 0) this.#topicIds = [topicId];
  }
}
