import { randomUUID } from 'node:crypto';
import { partitionOf } from '@relay/events';
import kafkajs, { type Admin, type EachBatchPayload, type Kafka, type PartitionAssigner } from 'kafkajs';
import { AttemptRecord } from '@relay/events';

/** Nothing for so long: the broker has stopped answering. */
const IDLE_MS = 15_000;
const TELL_EVERY_MS = 2_000;

interface Range {
  readonly topic: string;
  readonly partition: number;
  /** First offset kept, and the one after the last. */
  readonly from: number;
  readonly end: number;
}

/**
 * Every attempt of an envelope that the log still holds. The worker writes them under the envelope's id, so one partition
 * has them all; it is read from its start to where it ended when asked.
 * @param tell called every two seconds with the records read and those there are
 * @throws Error when the topic is missing or the brokers stop answering
 */
export async function readAttempts(
  kafka: Kafka,
  { topic, group, envelopeId }: { topic: string; group: string; envelopeId: string },
  tell: (read: number, of: number) => void,
): Promise<AttemptRecord[]> {
  const found: AttemptRecord[] = [];
  const admin = kafka.admin();
  await admin.connect();
  try {
    const range = await rangeOf(admin, topic, envelopeId);
    if (range.from === range.end) return [];
    const groupId = `${group}-cli-${randomUUID()}`;
    await readRange(kafka, range, groupId, tell, (key, value) => {
      const record = key?.toString() === envelopeId && value !== null ? parse(value) : undefined;
      if (record !== undefined) found.push(record);
    });
    // A broker forgets an empty group by itself, only later; it may not let us delete one.
    await admin.deleteGroups([groupId]).catch(() => undefined);
  } finally {
    await admin.disconnect();
  }
  return found;
}

async function rangeOf(admin: Admin, topic: string, envelopeId: string): Promise<Range> {
  const topics = await admin.listTopics();
  if (!topics.includes(topic)) throw new Error(`The topic ${topic} is missing: run \`relay topics create\``);
  const offsets = await admin.fetchTopicOffsets(topic);
  const partition = partitionOf(envelopeId, offsets.length);
  const bounds = offsets.find((candidate) => candidate.partition === partition);
  return { topic, partition, from: Number(bounds?.low ?? 0), end: Number(bounds?.high ?? 0) };
}

/** kafkajs reads in a group only: ours has one member and commits nothing. */
async function readRange(
  kafka: Kafka,
  range: Range,
  groupId: string,
  tell: (read: number, of: number) => void,
  take: (key: Buffer | null, value: Buffer | null) => void,
): Promise<void> {
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: [onlyPartition(range)],
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: 200,
    maxBytesPerPartition: 4 * 1024 * 1024,
  });
  let toldAt = Date.now();
  let idle: NodeJS.Timeout | undefined;
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [range.topic], fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      const silent = (): void => reject(new Error(`Kafka has stopped answering while ${range.topic} was read`));
      idle = setTimeout(silent, IDLE_MS);
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      const eachBatch = ({ batch }: EachBatchPayload): Promise<void> => {
        idle?.refresh();
        for (const { key, value } of batch.messages) take(key, value);
        const next = Number(batch.lastOffset()) + 1;
        if (next >= range.end) resolve();
        else if (Date.now() - toldAt > TELL_EVERY_MS) {
          tell(next - range.from, range.end - range.from);
          toldAt = Date.now();
        }
        return Promise.resolve();
      };
      consumer.run({ autoCommit: false, eachBatch }).catch(reject);
    });
  } finally {
    clearTimeout(idle);
    await consumer.disconnect();
  }
}

/** An assigner that hands one partition to us and leaves the others unread. */
const onlyPartition =
  ({ topic, partition }: Range): PartitionAssigner =>
  () => ({
    name: 'one-partition',
    version: 1,
    assign: ({ members }) =>
      Promise.resolve(
        members.map(({ memberId }) => ({
          memberId,
          memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
            version: 1,
            assignment: { [topic]: [partition] },
            userData: Buffer.alloc(0),
          }),
        })),
      ),
    protocol: ({ topics }) => ({
      name: 'one-partition',
      metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
    }),
  });

function parse(value: Buffer): AttemptRecord | undefined {
  try {
    return AttemptRecord.safeParse(JSON.parse(value.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
