import { Inject, Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { newJob, untilStored } from '@relay/jobs';
import { type LogPartition, PartitionProgress } from '@relay/progress';
import { RetryQueue } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import type { RecordHandle } from '../log/log-chunk.js';
import { ParkingRule } from '../parking/parking-rule.js';
import type { RunningEnvelope } from './running-envelope.js';

/** Decides which webhooks get an envelope now, and for which it waits in the log. */
@Injectable()
export class Recipients {
  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'matching'>,
    @Inject(ParkingRule) private readonly parking: Pick<ParkingRule, 'isDue' | 'notice'>,
    @Inject(PartitionProgress) private readonly progress: Pick<PartitionProgress, 'partials'>,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'existing' | 'add'>,
    private readonly log: ThrottledLog,
  ) {}

  /**
   * Returns the webhooks that get the record now, and parks others. Called while the record is handed out, because a range begins
   * at its offset. A record that is read again begins a range only for a disabled webhook, because any other webhook may have got
   * it already.
   */
  of(
    { envelope: { type, audience } }: EnvelopeRecord,
    handle: RecordHandle,
    running: RunningEnvelope,
  ): readonly Webhook[] {
    return this.webhooks.matching(type, audience).filter((webhook) => {
      const mayPark = !handle.isReadAgain || webhook.status === 'disabled';
      if (mayPark && !handle.isParked(webhook.id) && this.parking.isDue(webhook))
        handle.park(webhook.id, this.parking.notice(webhook));
      if (!handle.isParked(webhook.id)) return true;
      running.parked(webhook.id);
      return false;
    });
  }

  /**
   * Returns the webhooks of a record read again after a crash that have neither a mark nor a job or dead letter of this
   * acceptance. A worker that has lost the partition and does not know it yet may have stored a job since, so the job is stored
   * again like our own.
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
