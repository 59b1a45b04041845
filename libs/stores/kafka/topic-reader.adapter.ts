import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import type { Admin, Batch, EachBatchPayload, Kafka, KafkaMessage, PartitionAssigner } from 'kafkajs';
import { askedAgain } from './kept-admin.adapter.js';

/** After this time without a record the broker has stopped answering. */
const IDLE_MS = 15_000;

/** Bytes fetched of a partition at once, which the driver decodes in one turn of the event loop. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Records of one partition: from the first offset kept to before `end`. */
export interface LogRange {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly end: number;
}

/** @param gaps offsets of the range without a record, before, among or behind the messages; each is passed once */
type TakeRange = (
  range: LogRange,
  messages: readonly KafkaMessage[],
  gaps: readonly OffsetGap[],
) => Promise<void> | void;

/**
 * Reads ranges of the log once, each in order, partitions concurrently; a partition waits until its `take` resolves.
 * kafkajs reads in a group only: this one has a unique name, one member and commits nothing. Its seeks happen at every join,
 * before the first fetch, since a later seek races with a running fetch.
 * @param group prefix of the group's name, to which the brokers' ACLs apply
 * @param maxBytes fetched of a partition at once; lower if the event loop has other work
 * @throws Error when the brokers stop answering, and every error of `take`
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
  /** Gaps that `take` has not got yet. */
  gaps: readonly OffsetGap[];
}

/** One read by one group. Records that were taken stay taken when it ends early. */
async function readLeft(
  kafka: Kafka,
  left: Map<string, Left>,
  { group, maxBytes }: { group: string; maxBytes: number },
  take: TakeRange,
): Promise<void> {
  const parts = [...left.values()];
  const ranges = parts.map(({ range }) => range);
  const groupId = `${group}-once-${randomUUID()}`;
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: [onlyPartitions(ranges)],
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: 200,
    sessionTimeout: 60_000, // one slice may take its time
    maxBytesPerPartition: maxBytes,
    retry: { initialRetryTime: 200, retries: 8, restartOnFailure: () => Promise.resolve(false) },
  });
  const { GROUP_JOIN, CRASH, END_BATCH_PROCESS } = consumer.events;
  let [taking, heardAt] = [0, Date.now()];
  let watch: NodeJS.Timeout | undefined;
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...new Set(ranges.map(({ topic }) => topic))], fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      watch = setInterval(() => {
        if (taking === 0 && Date.now() - heardAt > IDLE_MS)
          reject(new Error('Kafka has stopped answering while the log was read'));
      }, 1_000);
      consumer.on(CRASH, ({ payload }) => reject(payload.error));
      consumer.on(GROUP_JOIN, () => {
        for (const { range, next } of left.values())
          consumer.seek({ topic: range.topic, partition: range.partition, offset: String(next) });
      });
      const eachBatch = async (payload: EachBatchPayload): Promise<void> => {
        const { batch } = payload;
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
        passed(part, batch.lastOffset());
        if (left.size > 0) await payload.heartbeat();
      };
      const passed = (part: Left, lastOffset: string): void => {
        part.next = Number(lastOffset) + 1;
        if (part.next >= part.range.end) left.delete(nameOf(part.range));
        if (left.size === 0) resolve();
      };
      // A batch of nothing but markers of transactions, or aborted records, comes to no `eachBatch`.
      consumer.on(END_BATCH_PROCESS, ({ payload: { batchSize, firstOffset, lastOffset, ...at } }) => {
        const part = left.get(nameOf(at));
        if (part === undefined || batchSize > 0 || firstOffset === null) return;
        heardAt = Date.now();
        const gap = { from: part.next, to: Math.min(Number(firstOffset), part.range.end) };
        if (gap.from < gap.to) part.gaps = [...part.gaps, gap];
        passed(part, lastOffset);
      });
      consumer.run({ autoCommit: false, partitionsConsumedConcurrently: 4, eachBatch }).catch(reject);
    });
    for (const part of parts) if (part.gaps.length > 0) await take(part.range, [], part.gaps);
  } finally {
    clearInterval(watch);
    await consumer.disconnect();
    await forget(kafka, groupId);
  }
}

const nameOf = ({ topic, partition }: { topic: string; partition: number }): string => `${topic}/${partition}`;

/** Deletes the group. A broker may refuse that; it forgets an empty group later by itself. */
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

/** An assigner that assigns these partitions to this member and leaves the others unread. */
const onlyPartitions =
  (ranges: readonly LogRange[]): PartitionAssigner =>
  () => ({
    name: 'only-partitions',
    version: 1,
    assign: ({ members }) => {
      const assignment: Record<string, number[]> = {};
      for (const { topic, partition } of ranges) (assignment[topic] ??= []).push(partition);
      return Promise.resolve(
        members.map(({ memberId }) => ({
          memberId,
          memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
            version: 1,
            assignment,
            userData: Buffer.alloc(0),
          }),
        })),
      );
    },
    protocol: ({ topics }) => ({
      name: 'only-partitions',
      metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
    }),
  });

/** The offsets `[from, to)`, at which the log has no record any more: compaction removed it. */
export interface OffsetGap {
  readonly from: number;
  readonly to: number;
}

/**
 * The gaps in what was fetched, from the offset `next` on and below `end`. Markers and records of aborted transactions are
 * there: the types of kafkajs leave out the member with all that was fetched.
 */
export function gapsIn(batch: Batch, next: number, end = Infinity): OffsetGap[] {
  const { rawMessages } = batch as Batch & { readonly rawMessages: readonly { readonly offset: string }[] };
  const gaps: OffsetGap[] = [];
  let from = next;
  for (const { offset } of rawMessages) {
    const to = Math.min(Number(offset), end);
    if (from < to) gaps.push({ from, to });
    from = Math.max(from, Number(offset) + 1);
  }
  return gaps;
}

/** Time of writing in epoch milliseconds: `[since, until)`; undefined is open. */
export interface TimeWindow {
  readonly since: number | undefined;
  readonly until: number | undefined;
}

/**
 * The range of each partition of a topic within a window, which may be empty. A range begins at the first record that is not
 * older than `since`, so records whose times are out of order may be on the wrong side. Includes partitions that were added a
 * moment ago, since kafkajs' admin client asks for the partitions each time.
 */
export async function rangesWithin(admin: Admin, topic: string, window: TimeWindow): Promise<LogRange[]> {
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

async function offsetsAt(admin: Admin, topic: string, time: number | undefined): Promise<Map<number, number>> {
  if (time === undefined) return new Map();
  // For Kafka negative times have special meanings, such as the newest or the oldest record.
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, Math.max(0, time));
  return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
}
