import type { TopicMessages } from 'kafkajs';
import { driverOf } from './kafka-client.adapter.js';
import type { Kafka, KafkaProducer, OutgoingBatch } from './kafka.port.js';

/**
 * Opens a producer without repeats of its own.
 * @param isIdempotent with one repeat, which kafkajs needs for that
 */
export async function openProducer(kafka: Kafka, isIdempotent: boolean): Promise<KafkaProducer> {
  const producer = driverOf(kafka).producer({
    allowAutoTopicCreation: false,
    createPartitioner: () => (chosen) => chosen.message.partition ?? 0,
    idempotent: isIdempotent,
    retry: { retries: isIdempotent ? 1 : 0 },
  });
  await producer.connect();
  return {
    send: (batches, timeout) => producer.sendBatch({ acks: -1, timeout, topicMessages: byTopic(batches) }),
    disconnect: () => producer.disconnect(),
  };
}

function byTopic(batches: readonly OutgoingBatch[]): TopicMessages[] {
  const topics = new Map<string, TopicMessages>();
  for (const { topic, partition, records } of batches) {
    let entry = topics.get(topic);
    if (entry === undefined) topics.set(topic, (entry = { topic, messages: [] }));
    for (const { key, value, headers } of records) entry.messages.push({ key, value, headers, partition });
  }
  return [...topics.values()];
}
