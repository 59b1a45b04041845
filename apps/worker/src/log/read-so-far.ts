import type { ReadTo } from '@relay/progress';
import { newestOf } from './log-loss.js';

/** Ids of a topic that are kept: a broker that is behind may report an earlier one. */
const KEPT_IDS = 4;

/** How far a partition was read, by this worker and earlier owners, and the ids of its topic. */
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

  /** Notes the largest time of the records that are handed out now. */
  saw(time: number): void {
    this.#newest = newestOf(this.#newest, time, Date.now());
  }

  /** Begins reading again. @param before how far others, or this worker, have read */
  beginAfter({ next, newest, topicIds = [] }: ReadTo): void {
    this.#before = { next, newest };
    this.#newest = 0;
    if (topicIds.length > 0) this.#topicIds = topicIds.slice(0, KEPT_IDS);
  }

  /**
   * Takes this id as the log's, unless another is known. The caller asks for it before the first record is fetched: a topic that
   * is created again after that has another id.
   */
  isOf(topicId: string | undefined): void {
    if (topicId !== undefined && this.#topicIds.length === 0) this.#topicIds = [topicId];
  }
}
