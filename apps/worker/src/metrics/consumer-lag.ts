import { Inject, Injectable } from '@nestjs/common';
import { envelopeTopics } from '@relay/events';
import { type KafkaAdmin, readLag, type TopicLag } from '@relay/kafka';
import { KAFKA_ADMIN, WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

/** Reads how far the consumer group is behind the topics of envelopes. */
@Injectable()
export class ConsumerLag {
  readonly #topics: string[];

  constructor(
    @Inject(KAFKA_ADMIN) private readonly admin: KafkaAdmin,
    @Inject(WORKER_CONFIG) private readonly config: WorkerConfig,
  ) {
    this.#topics = envelopeTopics(config.KAFKA_TOPIC_PREFIX);
  }

  read(): Promise<TopicLag[]> {
    return readLag(this.admin, this.config.KAFKA_CONSUMER_GROUP, this.#topics);
  }
}
