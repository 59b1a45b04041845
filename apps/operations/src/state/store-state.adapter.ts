import { envelopeTopics } from '@relay/events';
import { type QueueState, readQueues } from '@relay/jobs';
import { readLag, type TopicLag } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import type { Shards } from '@relay/redis';
import type { Kafka } from 'kafkajs';

/** The queues and the consumer lag as they are now. */
export class StoreState {
  constructor(
    private readonly shards: Shards,
    private readonly kafka: Kafka,
    private readonly settings: { readonly KAFKA_CONSUMER_GROUP: string; readonly KAFKA_TOPIC_PREFIX: string },
  ) {}

  queues(): Promise<QueueState[]> {
    return readQueues(this.shards, Date.now());
  }

  /** @throws ProblemError `unavailable` when no broker answers */
  async lag(): Promise<TopicLag[]> {
    const admin = this.kafka.admin({ retry: { retries: 1 } });
    const topics = envelopeTopics(this.settings.KAFKA_TOPIC_PREFIX);
    try {
      await admin.connect();
      return await readLag(admin, this.settings.KAFKA_CONSUMER_GROUP, topics);
    } catch (cause) {
      throw new ProblemError('unavailable', 'Kafka does not answer at the moment.', {
        headers: { 'retry-after': '2' },
        cause,
      });
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  }
}
