import { Inject, Injectable } from '@nestjs/common';
import { envelopeTopics } from '@relay/events';
import { Kafka, LogFetcher, type TopicsOfCluster } from '@relay/kafka';
import { RegistryView } from '@relay/registry';
import type { WorkerConfig } from '@relay/settings';
import { FATAL, WORKER_CONFIG } from '../platform/tokens.js';
import { TopicIds } from './log-reader-options.js';
import { cached } from './timing.js';

/** Time in ms for which an answer is cached. The partitions ask at about the same time, so they share one answer. */
const KEPT_MS = 100;

/**
 * Returns the ids of the envelope topics. One request covers all partitions. If the brokers now belong to a different Kafka
 * cluster than before, `of` throws and the worker process ends. The worker then waits at its next start for the right
 * cluster.
 */
@Injectable()
export class KafkaTopicIds extends TopicIds {
  readonly #fetcher: LogFetcher;
  readonly #told: (name: string) => Promise<TopicsOfCluster>;

  constructor(
    kafka: Kafka,
    @Inject(WORKER_CONFIG) config: Pick<WorkerConfig, 'KAFKA_TOPIC_PREFIX'>,
    private readonly registry: RegistryView,
    @Inject(FATAL) private readonly fatal: (reason: string) => void,
  ) {
    super();
    this.#fetcher = new LogFetcher(kafka);
    const { KAFKA_TOPIC_PREFIX: prefix } = config;
    this.#told = cached(() => this.#fetcher.topicsOfCluster(envelopeTopics(prefix)), KEPT_MS);
  }

  async of(topic: string): Promise<string | undefined> {
    const { cluster, ids } = await this.#told('all');
    const fault = this.registry.claim.faultOf(cluster);
    if (fault === undefined) return ids.get(topic);
    this.fatal(fault);
    throw new Error(fault);
  }

  close(): Promise<void> {
    return this.#fetcher.close();
  }
}
