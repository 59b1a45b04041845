import { LogFetcher, type TopicIds as Found } from '@relay/kafka';
import type { Kafka } from 'kafkajs';
import { cached } from './cached.js';
import { TopicIds } from './log-reader-options.js';

/** So long that the partitions, which ask at the same time, share an answer. */
const KEPT_MS = 100;

/** The ids of the topics of envelopes, which all partitions ask for together. */
export class KafkaTopicIds extends TopicIds {
  readonly #fetcher: LogFetcher;
  readonly #ids: (name: string) => Promise<Found>;

  constructor(kafka: Kafka, topics: readonly string[]) {
    super();
    this.#fetcher = new LogFetcher(kafka);
    this.#ids = cached(() => this.#fetcher.topicIds(topics), KEPT_MS);
  }

  async of(topic: string): Promise<string | undefined> {
    return (await this.#ids('all')).get(topic);
  }

  close(): Promise<void> {
    return this.#fetcher.close();
  }
}
