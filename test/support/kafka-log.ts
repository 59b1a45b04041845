import { randomUUID } from 'node:crypto';
import type { StoredRecord } from '@relay/testing';
import type { Kafka } from 'kafkajs';

/** Everything a topic holds by now, each partition in its order. */
export async function readTopic(kafka: Kafka, topic: string): Promise<StoredRecord[]> {
  const admin = kafka.admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  const left = new Map<number, number>();
  for (const { partition, high } of ends) if (high !== '0') left.set(partition, Number(high));
  const records: StoredRecord[] = [];
  if (left.size === 0) return records;
  const consumer = kafka.consumer({ groupId: `spec.${randomUUID()}`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        autoCommit: false,
        eachMessage: async ({ partition, message }) => {
          const headers = Object.fromEntries(
            Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]),
          );
          records.push({ partition, key: String(message.key), value: message.value ?? Buffer.alloc(0), headers });
          if (Number(message.offset) + 1 >= (left.get(partition) ?? 0)) left.delete(partition);
          if (left.size === 0) resolve();
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
  return records;
}
