import type { LogPartition, ReadTo } from '@relay/progress';
import type { LogBounds } from './log-reader-options.js';

/** Maximum difference in ms between the clocks of two machines. */
const CLOCKS_DIFFER_MS = 60_000;

/** A loss of records that were already read, because Kafka lost acknowledged records or the topic was created again. */
export interface LogLoss {
  /** Records with the offsets `[from, to)` were read, but the log now has no records or other records there. */
  readonly from: number;
  readonly to: number;
  /** End of the log when the loss was detected. */
  readonly end: number;
  /** All records below this offset were read before or are lost. */
  readonly sameBelow: number;
  /**
   * Only set if the topic was created again, so that the whole log is new: the id of the topic, then the ids of earlier
   * topics.
   */
  readonly topicIds?: readonly string[];
}

/** Returns the loss if Kafka has lost records that were already read; otherwise undefined. */
export type LossOf = (read: ReadTo) => Promise<LogLoss | undefined>;

/**
 * Whether the topic has another id than the log that was read. The ids of earlier topics do not count as different, because
 * a broker with outdated metadata may still report one.
 */
export const isAnotherTopic = ({ topicIds = [] }: ReadTo, topicId: string | undefined): topicId is string =>
  topicId !== undefined && !topicIds.includes(topicId);

/**
 * Returns the larger one of two timestamps of records that were read. Returns Infinity if a timestamp is ahead of this
 * clock, because the timestamps of this partition then prove nothing.
 */
export function newestOf(before: number, time: number, now: number): number {
  if (!(time > before)) return before;
  return time > now + CLOCKS_DIFFER_MS ? Infinity : time;
}

/**
 * Checks whether the log still has the records that were read. Offsets alone show a loss only until the log has grown back
 * to its former length, so timestamps are compared too. Kafka writes the replacement of a lost record after the record was
 * read, so the replacement is younger than all records that were read. Therefore, if the first younger record is below
 * `next`, records were lost.
 *
 * The timestamps also show which records to read again. A record that is older than the newest read one, by more than clocks
 * can differ, was read before. Any other record may be new. There is no better evidence. A new leader shows that records may
 * be lost, but not which ones. If the log starts at offset 0, it may be new, or retention may not have deleted anything yet.
 * If there is no usable timestamp, the whole log may be new. In that case the stored marks prevent most duplicates, and a
 * duplicate is better than a loss.
 *
 * A topic that was created again has another id (KIP-516). In that case all of the new log is read, no matter how much of it
 * was already read. Brokers without topic ids leave only the timestamps.
 *
 * @param topicId id of the topic; must be requested after the records were read
 * @throws Error if the topic does not exist at the moment, and errors of Kafka
 */
export async function lossOf(
  bounds: Pick<LogBounds, 'fetchTopicOffsets' | 'fetchTopicOffsetsByTimestamp'>,
  cachedEnds: LogBounds['fetchTopicOffsets'],
  { topic, partition }: LogPartition,
  read: ReadTo,
  topicId?: string,
): Promise<LogLoss | undefined> {
  const { next, newest, topicIds = [] } = read;
  const entryOf = <T extends { partition: number }>(all: readonly T[]) =>
    all.find((entry) => entry.partition === partition);
  /** Returns the offset of the first record with this timestamp or a later one, or the end of the log if there is none. */
  const firstAt = async (time: number): Promise<number> => {
    const all = await bounds.fetchTopicOffsetsByTimestamp(topic, Math.max(0, time));
    return Number(entryOf(all)?.offset ?? next);
  };
  if (topicIds.length > 0 && topicId === undefined) throw new Error(`Kafka has no topic ${topic} at the moment`);
  if (topicIds.length > 0 && isAnotherTopic(read, topicId)) {
    const high = Number(entryOf(await bounds.fetchTopicOffsets(topic))?.high ?? next);
    return { from: 0, to: next, end: Math.min(next, high), sameBelow: 0, topicIds: [topicId, ...topicIds] };
  }
  const isDated = newest > 0 && newest < Infinity;
  // The cached end may be outdated, so it can only raise a suspicion. The end is requested again below.
  const from = isDated ? await firstAt(newest + 1) : Number(entryOf(await cachedEnds(topic))?.high ?? next);
  if (from >= next) return undefined;
  const found = entryOf(await bounds.fetchTopicOffsets(topic));
  if (found === undefined) return undefined;
  const [low, end] = [Number(found.low), Number(found.high)];
  if (!isDated) return end < next ? { from: end, to: next, end, sameBelow: low } : undefined;
  return { from, to: next, end, sameBelow: Math.min(from, await firstAt(newest - CLOCKS_DIFFER_MS)) };
}

/** Number of topic ids that are kept. A broker with outdated metadata may report the id of an earlier topic. */
const KEPT_IDS = 4;

/** How far this worker and earlier owners have read a partition, and the ids of its topic. */
export class ReadSoFar {
  #before: ReadTo = { next: 0, newest: 0 };
  #newest = 0;
  #topicIds: readonly string[] = [];

  /** @param next next offset that this worker dispatches; undefined before it has started */
  to(next: number | undefined): ReadTo {
    return {
      next: Math.max(next ?? 0, this.#before.next),
      newest: Math.max(this.#newest, this.#before.newest),
      topicIds: this.#topicIds,
    };
  }

  /** Records the largest timestamp of the records that are being dispatched. */
  saw(time: number): void {
    this.#newest = newestOf(this.#newest, time, Date.now());
  }

  /** Starts to read again. @param before how far this worker or an earlier owner has read */
  beginAfter({ next, newest, topicIds = [] }: ReadTo): void {
    this.#before = { next, newest };
    this.#newest = 0;
    if (topicIds.length > 0) this.#topicIds = topicIds.slice(0, KEPT_IDS);
  }

  /**
   * Stores the id of the topic if none is known yet. The caller must request the id before the first record is fetched. Then
   * a topic that is created again after that has another id.
   */
  isOf(topicId: string | undefined): void {
    if (topicId !== undefined && this.#topicIds.length === 0) this.#topicIds = [topicId];
  }
}
