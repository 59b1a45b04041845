import { answeredWithin, askedAgain, readRanges } from '@relay/kafka';
import type { Publisher } from '@relay/publishing';
import type { Kafka } from 'kafkajs';
import { RegistryLog, type LoggedCommand } from './registry-log.port.js';

/** Shorter than a caller waits. */
const BOUNDS_MS = 8_000;
const HEADERS = { 'content-type': 'application/json' };

/** The topic `relay.registry`: one partition, acks=all, no retention. */
export class KafkaRegistryLog extends RegistryLog {
  /** @param group what the names of short-lived reading groups begin with */
  constructor(
    private readonly kafka: Kafka,
    private readonly publisher: Publisher,
    private readonly topic: string,
    private readonly group: string,
  ) {
    super();
  }

  append(id: string, value: Buffer): Promise<number | undefined> {
    return this.publisher.publish({ topic: this.topic, key: id, value, headers: HEADERS, partition: 0 });
  }

  bounds(): Promise<{ start: number; end: number }> {
    return answeredWithin(
      BOUNDS_MS,
      askedAgain(BOUNDS_MS, () => this.#bounds()),
    );
  }

  async #bounds(): Promise<{ start: number; end: number }> {
    const admin = this.kafka.admin({ retry: { retries: 1 } });
    try {
      await admin.connect();
      const [bounds, ...others] = await admin.fetchTopicOffsets(this.topic);
      if (bounds === undefined || others.length > 0)
        throw new Error(`The topic ${this.topic} has ${others.length + 1} partitions; commands need the order of one`);
      return { start: Number(bounds.low), end: Number(bounds.high) };
    } finally {
      admin.disconnect().catch(() => undefined);
    }
  }

  read(from: number, end: number, take: (commands: readonly LoggedCommand[]) => Promise<void>): Promise<void> {
    const range = { topic: this.topic, partition: 0, from, end };
    return readRanges(this.kafka, [range], this.group, (_range, messages) =>
      take(messages.map(({ offset, value }) => ({ offset: Number(offset), value: value ?? Buffer.alloc(0) }))),
    );
  }
}
