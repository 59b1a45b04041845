import { Inject, Injectable } from '@nestjs/common';
import type { LogRecord } from '@relay/events';
import { Kafka, logRecordOf, readRanges } from '@relay/kafka';
import type { KafkaAdmin, KafkaMessage, OffsetGap } from '@relay/kafka';
import type { LogPartition } from '@relay/progress';
import { StoreConditions } from '../platform/store-conditions.adapter.js';
import { KAFKA_ADMIN, WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

/** Maximum size of a fetch in bytes. It is small, because live deliveries wait while a fetch is decoded. */
const FETCH_BYTES = 64 * 1024;

/** Reads parts of the log again that were read before. */
@Injectable()
export class LogArchive {
  constructor(
    private readonly kafka: Kafka,
    @Inject(KAFKA_ADMIN) private readonly admin: KafkaAdmin,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'KAFKA_CONSUMER_GROUP'>,
    @Inject(StoreConditions) private readonly conditions: Pick<StoreConditions, 'retentionMs'>,
  ) {}

  /** Returns the retention time of a topic in milliseconds. */
  retentionMs(topic: string): number {
    return this.conditions.retentionMs(topic);
  }

  /**
   * Reads the offsets `[from, end)`. Waits for `take` before it continues, and stops if `take` rejects. Each gap is passed
   * to `take` once.
   */
  read(
    range: LogPartition & { from: number; end: number },
    take: (records: readonly LogRecord[], gaps: readonly OffsetGap[]) => Promise<void>,
  ): Promise<void> {
    const handOut = (_range: unknown, messages: readonly KafkaMessage[], gaps: readonly OffsetGap[]): Promise<void> =>
      take(messages.map(logRecordOf), gaps);
    return readRanges(this.kafka, [range], this.config.KAFKA_CONSUMER_GROUP, handOut, FETCH_BYTES);
  }

  /** Returns the first offset of the partition that Kafka has not deleted because of retention. */
  async lowest({ topic, partition }: LogPartition): Promise<number> {
    const bounds = await this.admin.fetchTopicOffsets(topic);
    return Number(bounds.find((entry) => entry.partition === partition)?.low ?? 0);
  }

  /** Returns the record at this offset or the first record after it. Returns undefined if there is none. */
  async recordAt(at: LogPartition, offset: number): Promise<LogRecord | undefined> {
    let found: LogRecord | undefined;
    await this.read({ ...at, from: offset, end: offset + 1 }, async ([first]) => {
      found ??= first;
    });
    return found;
  }
}
