import type { LogPartition, ReadTo } from '@relay/progress';
import type { LogBounds } from './log-reader-options.js';

/** Largest difference between the clocks of two machines, in ms. */
const CLOCKS_DIFFER_MS = 60_000;

/** A loss of records that were read: Kafka lost the acknowledged end of the log, or the topic was created again. */
export interface LogLoss {
  /** The offsets `[from, to)` were read, and now hold no records or other ones. */
  readonly from: number;
  readonly to: number;
  /** End of the log when the loss was noticed. */
  readonly end: number;
  /** Every record below this offset was read before, or is gone. */
  readonly sameBelow: number;
  /** Set if the topic is another one of the same name, so nothing of its log is known: its id, and those of earlier topics. */
  readonly topicIds?: readonly string[];
}

/** Returns the loss if Kafka has lost records that were read. */
export type LossOf = (read: ReadTo) => Promise<LogLoss | undefined>;

/**
 * Whether the topic has another id than when its log was read. Earlier ids do not count: a broker that is behind may report one.
 */
export const isAnotherTopic = ({ topicIds = [] }: ReadTo, topicId: string | undefined): topicId is string =>
  topicId !== undefined && !topicIds.includes(topicId);

/**
 * Returns the largest time of a record that was read; infinite once a broker's clock was ahead, because a time then proves
 * nothing.
 */
export function newestOf(before: number, time: number, now: number): number {
  if (!(time > before)) return before;
  return time > now + CLOCKS_DIFFER_MS ? Infinity : time;
}

/**
 * Compares the log with how far it was read. Offsets alone show a loss only until the log is as long again, so times are
 * compared. A lost record was read before Kafka lost it, so every record in its place is younger than all that was read.
 * Therefore a log whose first younger record lies below `next` is not the log that was read.
 *
 * The times also show what to read again. A record older than the newest one read, by more than clocks differ, was read before;
 * any other record may be new. Other evidence is missing or worse: a new leader shows that records may be lost but not which, and
 * a low offset of 0 belongs to a new log and to one that retention has not reached. Without a time the whole log may be new: seen
 * marks then stop most repeats, and a repeat is better than a loss.
 *
 * A topic that was created again has another id (KIP-516), however much of it was read meanwhile: all of its log is read. With
 * brokers that have no ids, only the times are left.
 *
 * @param topicId asked for after the records were read
 * @throws Error while the topic does not exist, and errors of Kafka
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
  /** Returns the offset of the first record of this time or later; otherwise the end of the log. */
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
  // A cached answer may be older than the records read since, so only a new one shows that the log is shorter.
  const from = isDated ? await firstAt(newest + 1) : Number(entryOf(await cachedEnds(topic))?.high ?? next);
  if (from >= next) return undefined;
  const found = entryOf(await bounds.fetchTopicOffsets(topic));
  if (found === undefined) return undefined;
  const [low, end] = [Number(found.low), Number(found.high)];
  if (!isDated) return end < next ? { from: end, to: next, end, sameBelow: low } : undefined;
  return { from, to: next, end, sameBelow: Math.min(from, await firstAt(newest - CLOCKS_DIFFER_MS)) };
}

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
