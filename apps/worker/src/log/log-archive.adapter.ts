import { Inject, Injectable } from '@nestjs/common';
import type { LogRecord } from '@relay/events';
import { Kafka, logRecordOf, readRanges } from '@relay/kafka';
import type { KafkaAdmin, KafkaMessage, OffsetGap } from '@relay/kafka';
import type { LogPartition } from '@relay/progress';
import { StoreConditions } from '../platform/store-conditions.adapter.js';
import { KAFKA_ADMIN, WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

/** Bytes fetched at once: few, because live deliveries wait while a fetch is unpacked. */
const FETCH_BYTES = 64 * 1024;

/** Reads again the part of the log that was read before. */
@Injectable()
export class LogArchive {
  constructor(
    private readonly kafka: Kafka,
    @Inject(KAFKA_ADMIN) private readonly admin: KafkaAdmin,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'KAFKA_CONSUMER_GROUP'>,
    @Inject(StoreConditions) private readonly conditions: Pick<StoreConditions, 'retentionMs'>,
  ) {}

  /** Returns how long the topic keeps a record, in milliseconds. */
  retentionMs(topic: string): number {
    return this.conditions.retentionMs(topic);
  }

  /** Reads the offsets `[from, end)`. Reads on once `take` resolves, and stops if it rejects. Each gap is given once. */
  read(
    range: LogPartition & { from: number; end: number },
    take: (records: readonly LogRecord[], gaps: readonly OffsetGap[]) => Promise<void>,
  ): Promise<void> {
    const handOut = (_range: unknown, messages: readonly KafkaMessage[], gaps: readonly OffsetGap[]): Promise<void> =>
      take(messages.map(logRecordOf), gaps);
    return readRanges(this.kafka, [range], this.config.KAFKA_CONSUMER_GROUP, handOut, FETCH_BYTES);
  }

  /** Returns the first offset that retention has left in the partition. */
  async lowest({ topic, partition }: LogPartition): Promise<number> {
    const bounds = await this.admin.fetchTopicOffsets(topic);
    return Number(bounds.find((entry) => entry.partition === partition)?.low ?? 0);
  }

  /** Returns the record at this offset, or the first one after it; undefined if there is none. */
  async recordAt(at: LogPartition, offset: number): Promise<LogRecord | undefined> {
    let found: LogRecord | undefined;
    await this.read({ ...at, from: offset, end: offset + 1 }, async ([first]) => {
      found ??= first;
    });
    return found;
  }
}
