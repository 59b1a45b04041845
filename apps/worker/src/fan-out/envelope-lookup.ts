import { Inject, Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import { readRecord, type EnvelopeRecord, type ReadRecord } from '@relay/events';
import { newJob, untilStored } from '@relay/jobs';
import { type LogPartition, PartitionProgress, type Reservation, type ReservationResult } from '@relay/progress';
import { RetryQueue } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import type { LogChunk, RecordHandle } from '../log/log-chunk.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

/** Reads the records of a chunk and finds out what the store knows of their envelopes. */
@Injectable()
export class EnvelopeLookup {
  constructor(
    @Inject(PartitionProgress) private readonly progress: PartitionProgress,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refreshTo'>,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'existing' | 'add'>,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'KAFKA_TOPIC_PREFIX'>,
    private readonly log: ThrottledLog,
  ) {}

  read({ at, records }: LogChunk): ReadRecord[] {
    return records.map((record) => readRecord(record, at.topic, this.config.KAFKA_TOPIC_PREFIX));
  }

  /** Reserves the ids of a chunk in one round trip, and waits until the registrations of that moment are known. */
  async reserve(at: LogPartition, records: readonly ReadRecord[]): Promise<Map<ReadRecord, ReservationResult>> {
    const envelopes = records.filter((item) => item.kind === 'envelope');
    const entries = envelopes.map(({ envelope }) => ({ id: envelope.id, hash: envelope.contentHash }));
    const reservation = await untilStored(
      async (): Promise<Reservation> => {
        const found = await this.progress.reserve(entries);
        await this.webhooks.refreshTo(found.registryVersion);
        return found;
      },
      this.log,
      { ...at },
    );
    return new Map(envelopes.map((item, index) => [item, reservation.verdicts[index] as ReservationResult]));
  }

  /**
   * Of the webhooks of a record that is read again after a crash, those that have neither a mark nor a job or dead
   * letter of this acceptance. A job may be newer than our ownership (of a worker that has lost the partition and does
   * not know it yet), so it is stored again like one of ours. The envelope may also be a repeat that was looked up
   * before the mark of the first was written; that mark is written by now.
   */
  async unsettled(
    at: LogPartition,
    item: EnvelopeRecord,
    webhooks: readonly Webhook[],
    handle: RecordHandle,
  ): Promise<readonly Webhook[]> {
    const { acceptedAt, envelope } = item;
    const { id: envelopeId, contentHash: hash } = envelope;
    const idOf = ({ id: webhookId }: Webhook): string =>
      deliveryId({ webhookId, envelopeId, hash, series: 0, acceptedAt });
    return untilStored(
      async () => {
        const [verdict] = (await this.progress.reserve([{ id: envelopeId, hash }])).verdicts;
        if (verdict === 'duplicate') {
          handle.markDuplicate();
          return [];
        }
        const marked = (await this.progress.partials(at, [envelopeId])).get(envelopeId);
        handle.marked({ id: envelopeId, webhookIds: [...(marked ?? [])] });
        const unmarked = webhooks.filter((webhook) => marked?.has(webhook.id) !== true);
        const queued = await this.queue.existing(unmarked.map(idOf));
        for (const webhook of unmarked)
          if (queued.has(idOf(webhook)))
            handle.added(() => this.queue.add({ job: newJob(webhook, item), at: Date.now() }));
        return unmarked.filter((webhook) => !queued.has(idOf(webhook)));
      },
      this.log,
      { ...at, envelopeId },
    );
  }
}
