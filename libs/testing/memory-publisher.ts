import { partitionOf } from '@relay/events';
import { Publisher, PublishFailed, type OutgoingRecord } from '@relay/publishing';

/** A record in the log. */
export interface StoredRecord {
  readonly partition: number;
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** A log in memory, with topics and faults that a spec sets. */
export class MemoryPublisher extends Publisher {
  readonly #topics = new Map<string, { partitions: number; records: StoredRecord[] }>();
  #isClosed = false;
  /** While set, every publish is refused with it. */
  failure: PublishFailed | undefined;
  /** Every publish waits for it before the record is stored. */
  gate: Promise<void> | undefined;

  get state(): string {
    return this.#isClosed ? 'closed' : (this.failure?.message ?? 'connected');
  }

  createTopic(topic: string, partitions = 1): void {
    this.#topics.set(topic, { partitions, records: [] });
  }

  hasTopic(topic: string): boolean {
    return this.#topics.has(topic);
  }

  /** The records of a topic, in the order in which they were stored. */
  read(topic: string): readonly StoredRecord[] {
    return this.#topics.get(topic)?.records ?? [];
  }

  async publish(record: OutgoingRecord): Promise<number> {
    if (this.gate !== undefined) await this.gate;
    if (this.#isClosed) throw new PublishFailed('unavailable', 'The publisher is closed');
    if (this.failure !== undefined) throw this.failure;
    const topic = this.#topics.get(record.topic);
    if (topic === undefined) {
      throw new PublishFailed('unavailable', `There is no topic ${record.topic}: make it with \`relay topics create\``);
    }
    const { key, value, headers } = record;
    const partition = record.partition ?? partitionOf(key, topic.partitions);
    if (partition >= topic.partitions) {
      throw new PublishFailed('refused', `${record.topic} has no partition of number ${partition}`);
    }
    const offset = topic.records.filter((stored) => stored.partition === partition).length;
    topic.records.push({ partition, key, value, headers });
    return offset;
  }

  async learn(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
  }
}
