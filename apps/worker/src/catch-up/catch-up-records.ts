import { Inject, Injectable } from '@nestjs/common';
import { RedisSeenStore } from '@relay/dedupe';
import { deliveryId } from '@relay/delivery';
import { readRecord, type EnvelopeRecord, type LogRecord } from '@relay/events';
import { readRangeKey } from '@relay/progress';
import { shardNumber } from '@relay/redis';
import { RetryQueue } from '@relay/retry';
import { RedisWebhookView } from '@relay/webhooks';
import type { RangeCatchUp } from '../log/catch-up-partition.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import { FailedDeliveries } from '../replays/failed-deliveries.js';
import type { WorkerConfig } from '@relay/settings';
import type { CatchUpBatch, CatchUpDelivery, CatchUpPass } from './catch-up-pass.js';

type Found = Omit<CatchUpDelivery, 'letters'>;

/** Finds in the records of a pass the deliveries that its webhooks and replays wait for. */
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
   * Returns the items without repeats and conflicts. The range of a parked webhook remembers them from the first reading. A
   * replay may be ordered long after that, so only the seen marks and this pass show them.
   */
  async #withoutRepeats(
    { kind, ids, partition }: CatchUpPass,
    items: readonly EnvelopeRecord[],
  ): Promise<readonly EnvelopeRecord[]> {
    if (kind === 'parked') return items;
    // The hashes are read before the look-up, so that an envelope that is settled in between has a hash or a mark.
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
    // Its deadline begins now, because it has had no attempt yet.
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
