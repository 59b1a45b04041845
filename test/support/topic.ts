import type { Admin, IHeaders, Kafka } from 'kafkajs';
import { readTopic } from './kafka-log.js';

/** One topic as a partner's own consumer or a foreign producer sees it. */
export class Topic {
  constructor(
    private readonly kafka: Kafka,
    private readonly admin: Admin,
    readonly name: string,
  ) {}

  /** Records that were ever written. */
  async count(): Promise<number> {
    const ends = await this.admin.fetchTopicOffsets(this.name);
    return ends.reduce((sum, { high }) => sum + Number(high), 0);
  }

  /** Everything it holds by now, each partition in its order. */
  read(): ReturnType<typeof readTopic> {
    return readTopic(this.kafka, this.name);
  }

  /** Writes past the ingress; `null` is a tombstone. */
  async write(...records: { value: Buffer | string | null; key?: string | null; headers?: IHeaders }[]): Promise<void> {
    const producer = this.kafka.producer({ allowAutoTopicCreation: false });
    await producer.connect();
    const messages = records.map(({ key = null, value, headers = {} }) => ({ key, value, headers, partition: 0 }));
    await producer.send({ topic: this.name, acks: -1, messages });
    await producer.disconnect();
  }
}
