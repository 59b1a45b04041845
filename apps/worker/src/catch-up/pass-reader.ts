import { Inject, Injectable } from '@nestjs/common';
import { RedisSeenStore } from '@relay/dedupe';
import { deliveryId } from '@relay/delivery';
import { type EnvelopeRecord, type LogRecord, readRecord } from '@relay/events';
import type { OffsetGap } from '@relay/kafka';
import { readRangeKey } from '@relay/progress';
import { shardNumber } from '@relay/redis';
import { RetryQueue } from '@relay/retry';
import type { WorkerConfig } from '@relay/settings';
import { RedisWebhookView } from '@relay/webhooks';
import { type CatchUpBatch, type CatchUpDelivery, type CatchUpPass, CatchUpThrottle } from './catch-up-pass.js';
import type { CatchUpPartition, RangeCatchUp } from '../log/catch-up-partition.js';
import { LogArchive } from '../log/log-archive.adapter.js';
import { dropExpired, dropGap, RetentionReports } from '../parking/expiry-watch.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import { FailedDeliveries } from '../replays/failed-deliveries.js';

type Found = Omit<CatchUpDelivery, 'letters'>;

/** Finds the deliveries that the webhooks and replays of a pass need, in the records of the log. */
@Injectable()
export class CatchUpRecords {
  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    @Inject(RedisSeenStore) private readonly seen: Pick<RedisSeenStore, 'find'>,
    @Inject(FailedDeliveries) private readonly failed: Pick<FailedDeliveries, 'of'>,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'existing'>,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'KAFKA_TOPIC_PREFIX'>,
  ) {}

  async deliveriesOf(pass: CatchUpPass, records: readonly LogRecord[]): Promise<CatchUpBatch> {
    const { topic, shard = 0, shards = 1 } = pass.partition.at;
    const items = records
      .map((record) => readRecord(record, topic, this.config.KAFKA_TOPIC_PREFIX))
      .filter((item) => item.kind === 'envelope')
      .filter(({ envelope }) => shardNumber(envelope.id, shards) === shard);
    const firsts = await this.#withoutRepeats(pass, items);
    const deliveries = await this.failed.of(firsts.flatMap((item) => this.#ofRecord(pass.members, item)));
    return { deliveries, queued: await this.queue.existing(deliveries.map(({ id }) => id)) };
  }

  /**
   * Removes records that repeat or conflict with an earlier record of the same envelope. For a parked webhook nothing needs
   * to be removed, because its range already excludes these records. A replay may be ordered much later. Therefore its
   * records are compared with the stored marks of settled envelopes, and with the envelopes that the pass has already read.
   */
  async #withoutRepeats(
    { kind, ids, partition }: CatchUpPass,
    items: readonly EnvelopeRecord[],
  ): Promise<readonly EnvelopeRecord[]> {
    if (kind === 'parked') return items;
    // The hashes must be read before the marks. An envelope that is settled in between then has at least one of them.
    const running = items.map(({ envelope }) => partition.hashOf(envelope.id));
    const marks = await this.seen.find(items.map(({ envelope }) => envelope.id));
    return items.filter(({ envelope: { id, contentHash } }, index) => {
      const mark = marks[index];
      const first = running[index] ?? (mark?.state === 'settled' ? mark.hash : contentHash);
      return first === contentHash && ids.size < ids.add(id).size;
    });
  }

  #ofRecord(members: ReadonlyMap<string, RangeCatchUp>, item: EnvelopeRecord): Found[] {
    const { id: envelopeId, contentHash: hash, type, audience } = item.envelope;
    const { acceptedAt } = item;
    // The delivery gets its full time for retries from now on, because it has had no attempt yet.
    const record = { ...item, acceptedAt: Date.now(), waitedSince: acceptedAt };
    return [...members].flatMap(([key, range]) => {
      const { webhookId, series } = readRangeKey(key);
      const webhook = this.webhooks.find(webhookId);
      if (webhook === undefined || webhook.eventType !== type) return [];
      if (audience.length > 0 && !audience.includes(webhook.partnerId)) return [];
      if (item.record.offset < range.from) return [];
      return [{ key, webhookId, series, record, id: deliveryId({ webhookId, envelopeId, hash, series, acceptedAt }) }];
    });
  }
}

/** Reads the part of the log that a pass covers, and passes on the deliveries that it finds there. */
@Injectable()
export class PassReader {
  constructor(
    @Inject(LogArchive) private readonly archive: Pick<LogArchive, 'read' | 'lowest'>,
    @Inject(CatchUpThrottle) private readonly throttle: Pick<CatchUpThrottle, 'pass' | 'next'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find' | 'refresh'>,
    private readonly records: CatchUpRecords,
    @Inject(RetentionReports) private readonly reports: Pick<RetentionReports, 'expired'>,
  ) {}

  /**
   * Reads the offsets `[from, end)`. If Kafka has deleted the first of them because of retention, reads nothing, removes the
   * deleted offsets from the ranges, and reports the lost records.
   */
  async read(
    pass: CatchUpPass,
    from: number,
    end: number,
    take: (batch: CatchUpBatch) => Promise<void>,
  ): Promise<void> {
    const { partition, members } = pass;
    const lowest = await this.archive.lowest(partition.at);
    if (from < lowest) return this.#drop(pass, lowest);
    if (!(from < end)) return;
    await this.throttle.pass(async (begun) => {
      pass.assertGoesOn();
      await this.archive.read({ ...partition.at, from, end }, async (records, gaps) => {
        begun();
        for (const { chunk, gap } of piecesOf(records, gaps)) {
          await this.throttle.next();
          await this.webhooks.refresh();
          if (chunk.length > 0) await take(await this.records.deliveriesOf(pass, chunk));
          if (gap === undefined) continue;
          for (const [key, range] of members) this.#expired(partition, key, dropGap(partition, range, gap));
        }
      });
    });
    for (const range of members.values()) range.passed(end);
  }

  /** Reports records that waited for delivery when their topic was deleted and created again. */
  tellExpired(partition: CatchUpPartition): void {
    const { shards = 1 } = partition.at;
    for (const [key, records] of partition.takeExpired()) this.#expired(partition, key, Math.ceil(records / shards));
  }

  #drop({ partition, members }: CatchUpPass, lowest: number): void {
    for (const key of members.keys()) this.#expired(partition, key, dropExpired(partition, key, lowest));
  }

  #expired({ at }: CatchUpPartition, key: string, records: number): void {
    const webhook = this.webhooks.find(readRangeKey(key).webhookId);
    if (webhook !== undefined && records > 0) this.reports.expired(webhook, at, records);
  }
}

/**
 * Number of records that are looked up in one round trip. It is small, because live deliveries wait while they are parsed.
 */
const CHUNK = 50;

/** Records that are looked up together, and the gap in the offsets after them. */
interface Piece {
  readonly chunk: readonly LogRecord[];
  readonly gap?: OffsetGap | undefined;
}

/** Splits records into chunks and yields them, in order of their offsets, together with the gaps between them. */
export function* piecesOf(records: readonly LogRecord[], gaps: readonly OffsetGap[]): Generator<Piece> {
  let from = 0;
  for (const gap of [...gaps, undefined]) {
    const behind = gap === undefined ? -1 : records.findIndex(({ offset }) => offset >= gap.to);
    const end = behind < 0 ? records.length : behind;
    for (; end - from > CHUNK; from += CHUNK) yield { chunk: records.slice(from, from + CHUNK) };
    if (from < end || gap !== undefined) yield { chunk: records.slice(from, end), gap };
    from = end;
  }
}
