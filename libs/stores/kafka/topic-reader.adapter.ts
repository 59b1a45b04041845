import { randomUUID } from 'node:crypto';
import { GroupConsumer, onlyPartitions, type GroupListener } from './group-consumer.adapter.js';
import type { BatchInHand, FetchedBatch, Kafka, KafkaAdmin, KafkaMessage } from './kafka.port.js';
import { askedAgain } from './kept-admin.adapter.js';

/** If no record arrives for this time, in milliseconds, the broker has stopped answering. */
const IDLE_MS = 15_000;

/** Most bytes that are fetched from a partition at once. The driver decodes them in one turn of the event loop. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Records of one partition, from the offset `from` on and before the offset `end`. */
export interface LogRange {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly end: number;
}

/**
 * @param gaps offsets of the range without a record; they lie before, between or after the messages. Each gap is passed
 * once.
 */
type TakeRange = (
  range: LogRange,
  messages: readonly KafkaMessage[],
  gaps: readonly OffsetGap[],
) => Promise<void> | void;

/**
 * Reads each range of the log once and in order, and several partitions concurrently. A partition waits until its `take`
 * resolves. The driver can read only as a member of a group. So each read uses a group with a unique name and one member,
 * which commits nothing. The member seeks at every join, before the first fetch, because a later seek races with a running
 * fetch.
 * @param group beginning of the group's name; the brokers' ACLs refer to it
 * @param maxBytes most bytes fetched from a partition at once; choose less if the event loop has other work
 * @throws Error if the brokers stop answering, and every error of `take`
 */
export async function readRanges(
  kafka: Kafka,
  ranges: readonly LogRange[],
  group: string,
  take: TakeRange,
  maxBytes = MAX_BYTES,
): Promise<void> {
  const left = new Map<string, Left>(
    ranges.filter(({ from, end }) => from < end).map((range) => [nameOf(range), { range, next: range.from, gaps: [] }]),
  );
  await askedAgain(IDLE_MS, async () => {
    if (left.size > 0) await readLeft(kafka, left, { group, maxBytes }, take);
  });
}

interface Left {
  readonly range: LogRange;
  next: number;
  /** Gaps that were not passed to `take` yet. */
  gaps: readonly OffsetGap[];
}

/** Reads what is left with one group. If this ends early, the records that `take` already has are not passed again. */
async function readLeft(
  kafka: Kafka,
  left: Map<string, Left>,
  { group: prefix, maxBytes }: { group: string; maxBytes: number },
  take: TakeRange,
): Promise<void> {
  const parts = [...left.values()];
  const ranges = parts.map(({ range }) => range);
  const groupId = `${prefix}-once-${randomUUID()}`;
  const group = new GroupConsumer(kafka, {
    groupId,
    assigner: onlyPartitions(ranges),
    maxWaitTimeInMs: 200,
    sessionTimeout: 60_000, // `take` may need long for one batch
    maxBytesPerPartition: maxBytes,
    concurrency: 4,
    retry: { initialRetryTime: 200, retries: 8, restartOnFailure: () => Promise.resolve(false) },
  });
  let [taking, heardAt] = [0, Date.now()];
  let watch: NodeJS.Timeout | undefined;
  try {
    await group.connect([...new Set(ranges.map(({ topic }) => topic))]);
    await new Promise<void>((resolve, reject) => {
      watch = setInterval(() => {
        if (taking === 0 && Date.now() - heardAt > IDLE_MS)
          reject(new Error('Kafka has stopped answering while the log was read'));
      }, 1_000);
      const takeBatch = async (inHand: BatchInHand): Promise<void> => {
        const { batch } = inHand;
        const part = left.get(nameOf(batch));
        if (part === undefined) return;
        const { range, next } = part;
        const fresh = batch.messages.filter(({ offset }) => Number(offset) >= next && Number(offset) < range.end);
        const gaps = [...part.gaps, ...gapsIn(batch, next, range.end)];
        taking += 1;
        try {
          if (fresh.length > 0 || gaps.length > 0) await take(range, fresh, gaps);
          part.gaps = [];
        } catch (error) {
          reject(error);
          return;
        } finally {
          taking -= 1;
          heardAt = Date.now();
        }
        passed(part, Number(batch.lastOffset()) + 1);
        if (left.size > 0) await inHand.heartbeat();
      };
      const passed = (part: Left, to: number): void => {
        part.next = to;
        if (part.next >= part.range.end) left.delete(nameOf(part.range));
        if (left.size === 0) resolve();
      };
      const listener: GroupListener = {
        joined: () => {
          for (const { range, next } of left.values()) group.seek(range.topic, range.partition, next);
        },
        batch: async (inHand) => {
          await takeBatch(inHand);
          inHand.resolveOffset(inHand.batch.lastOffset());
        },
        foundEmpty: (topic, partition, from, end) => {
          const part = left.get(nameOf({ topic, partition }));
          if (part === undefined) return;
          heardAt = Date.now();
          const gap = { from: part.next, to: Math.min(from, part.range.end) };
          if (gap.from < gap.to) part.gaps = [...part.gaps, gap];
          passed(part, end);
        },
        crashed: reject,
      };
      group.hear(listener);
      group.run().catch(reject);
    });
    for (const part of parts) if (part.gaps.length > 0) await take(part.range, [], part.gaps);
  } finally {
    clearInterval(watch);
    await group.leave();
    await forget(kafka, groupId);
  }
}

const nameOf = ({ topic, partition }: { topic: string; partition: number }): string => `${topic}/${partition}`;

/** Deletes the group. If a broker refuses the deletion, it deletes the empty group later by itself. */
async function forget(kafka: Kafka, groupId: string): Promise<void> {
  const admin = kafka.admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    await admin.deleteGroups([groupId]);
  } catch {
    // Kafka deletes the empty group later.
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

/** The offsets `[from, to)`. The log no longer has records there, because compaction removed them. */
export interface OffsetGap {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the gaps in a fetched batch, from the offset `next` on and below `end`. Markers and records of aborted
 * transactions are not gaps.
 */
export function gapsIn({ rawMessages }: Pick<FetchedBatch, 'rawMessages'>, next: number, end = Infinity): OffsetGap[] {
  const gaps: OffsetGap[] = [];
  let from = next;
  for (const { offset } of rawMessages) {
    const to = Math.min(Number(offset), end);
    if (from < to) gaps.push({ from, to });
    from = Math.max(from, Number(offset) + 1);
  }
  return gaps;
}

/**
 * Records that were written in `[since, until)`, in epoch milliseconds. If a bound is undefined, there is no limit on that
 * side.
 */
export interface TimeWindow {
  readonly since: number | undefined;
  readonly until: number | undefined;
}

/**
 * Returns the range of each partition of a topic within a window; a range may be empty. A range begins at the first record
 * that is not older than `since`. So if records are not in the order of their times, a record may be wrongly inside or
 * outside the range. Partitions that were added a moment ago are included, because the admin client asks for the partitions
 * each time.
 */
export async function rangesWithin(admin: KafkaAdmin, topic: string, window: TimeWindow): Promise<LogRange[]> {
  const bounds = await admin.fetchTopicOffsets(topic);
  const [since, until] = await Promise.all([
    offsetsAt(admin, topic, window.since),
    offsetsAt(admin, topic, window.until),
  ]);
  return bounds.map(({ partition, low, high }) => ({
    topic,
    partition,
    from: Math.max(Number(low), since.get(partition) ?? 0),
    end: Math.min(Number(high), until.get(partition) ?? Infinity),
  }));
}

async function offsetsAt(admin: KafkaAdmin, topic: string, time: number | undefined): Promise<Map<number, number>> {
  if (time === undefined) return new Map();
  // In Kafka negative times have special meanings, such as the newest or the oldest record.
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, Math.max(0, time));
  return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
}
