import { AttemptRecord, partitionOf } from '@relay/events';
import { readRanges, type LogRange } from '@relay/kafka';
import type { Kafka } from 'kafkajs';

const TELL_EVERY_MS = 2_000;

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
  const range = await rangeOf(kafka, topic, envelopeId);
  let toldAt = Date.now();
  let read = 0;
  await readRanges(kafka, [range], group, (_range, messages) => {
    for (const { key, value } of messages) {
      const record = key?.toString() === envelopeId && value !== null ? readAttempt(value) : undefined;
      if (record !== undefined) found.push(record);
    }
    read += messages.length;
    if (Date.now() - toldAt <= TELL_EVERY_MS) return;
    tell(read, range.end - range.from);
    toldAt = Date.now();
  });
  return found;
}

async function rangeOf(kafka: Kafka, topic: string, envelopeId: string): Promise<LogRange> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const topics = await admin.listTopics();
    if (!topics.includes(topic)) throw new Error(`The topic ${topic} is missing: run \`relay topics create\``);
    const offsets = await admin.fetchTopicOffsets(topic);
    const partition = partitionOf(envelopeId, offsets.length);
    const bounds = offsets.find((candidate) => candidate.partition === partition);
    return { topic, partition, from: Number(bounds?.low ?? 0), end: Number(bounds?.high ?? 0) };
  } finally {
    await admin.disconnect();
  }
}

/** An attempt as it stands in the log; undefined for what is none. */
export function readAttempt(value: Buffer): AttemptRecord | undefined {
  try {
    return AttemptRecord.safeParse(JSON.parse(value.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
