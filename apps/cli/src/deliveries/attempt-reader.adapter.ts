import { parseDeliveryId } from '@relay/delivery';
import { AttemptRecord, partitionOf } from '@relay/events';
import { readRanges, type LogRange } from '@relay/kafka';
import type { Kafka } from 'kafkajs';

const REPORT_EVERY_MS = 2_000;

/**
 * Every attempt of an envelope that the log still holds. The worker writes them with the envelope’s id as key, so they
 * are in one partition, which is read from its start to its current end. If the first attempt is missing, the
 * partitions that the key had when the topic was smaller are read too.
 * @param progress called with the partitions, the records read and the records in all, every two seconds and when more
 * partitions follow
 * @throws Error when the topic is missing or the brokers stop answering
 */
export async function readAttempts(
  kafka: Kafka,
  { topic, group, envelopeId }: { topic: string; group: string; envelopeId: string },
  progress: (partitions: number, read: number, of: number) => void,
): Promise<AttemptRecord[]> {
  const [present, earlier] = await rangesOf(kafka, topic, envelopeId);
  const found = await readFrom(kafka, present, { group, envelopeId }, progress);
  if (earlier.length === 0 || found.some(isTheFirst)) return found;
  progress(earlier.length, 0, recordsOf(earlier));
  return [...(await readFrom(kafka, earlier, { group, envelopeId }, progress)), ...found];
}

/** The first delivery, not a replay. */
const isTheFirst = ({ deliveryId, attempt = 1 }: AttemptRecord): boolean =>
  attempt === 1 && parseDeliveryId(deliveryId)?.series === 0;

const recordsOf = (ranges: readonly LogRange[]): number => ranges.reduce((sum, { from, end }) => sum + end - from, 0);

async function readFrom(
  kafka: Kafka,
  ranges: readonly LogRange[],
  { group, envelopeId }: { group: string; envelopeId: string },
  progress: (partitions: number, read: number, of: number) => void,
): Promise<AttemptRecord[]> {
  const found: AttemptRecord[] = [];
  let reportedAt = Date.now();
  let read = 0;
  await readRanges(kafka, ranges, group, (_range, messages) => {
    for (const { key, value } of messages) {
      const record = key?.toString() === envelopeId && value !== null ? readAttempt(value) : undefined;
      if (record !== undefined) found.push(record);
    }
    read += messages.length;
    if (Date.now() - reportedAt <= REPORT_EVERY_MS) return;
    progress(ranges.length, read, recordsOf(ranges));
    reportedAt = Date.now();
  });
  return found;
}

/** The current partition of the envelope and those of a smaller topic, without empty ones. */
async function rangesOf(kafka: Kafka, topic: string, envelopeId: string): Promise<[LogRange[], LogRange[]]> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const topics = await admin.listTopics();
    if (!topics.includes(topic)) throw new Error(`The topic ${topic} is missing: run \`relay topics create\``);
    const offsets = await admin.fetchTopicOffsets(topic);
    const present = partitionOf(envelopeId, offsets.length);
    const earlier = new Set(offsets.map((_, index) => partitionOf(envelopeId, index + 1)));
    const ranges = offsets
      .map(({ partition, low, high }) => ({ topic, partition, from: Number(low), end: Number(high) }))
      .filter(({ from, end }) => from < end);
    return [
      ranges.filter(({ partition }) => partition === present),
      ranges.filter(({ partition }) => partition !== present && earlier.has(partition)),
    ];
  } finally {
    await admin.disconnect();
  }
}

/** A record of an attempt; undefined for any other record. */
export function readAttempt(value: Buffer): AttemptRecord | undefined {
  try {
    return AttemptRecord.safeParse(JSON.parse(value.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
