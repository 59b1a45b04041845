import { Inject, Injectable } from '@nestjs/common';
import type { EnvelopeRecord } from '@relay/events';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import type { RecordHandle } from '../log/log-chunk.js';
import { ParkingRule } from '../parking/parking-rule.js';
import type { RunningEnvelope } from './running-envelope.js';

/** Decides which webhooks get an envelope now, and for which it waits in the log. */
@Injectable()
export class Recipients {
  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'matching'>,
    @Inject(ParkingRule) private readonly parking: Pick<ParkingRule, 'isDue'>,
  ) {}

  /**
   * Decides while the record is handed out, because a range begins at its offset. A record that is read again begins a range
   * only for a disabled webhook, because any other webhook may have got it already.
   */
  of(
    { envelope: { type, audience } }: EnvelopeRecord,
    verdict: 'new' | 'again',
    handle: RecordHandle,
    running: RunningEnvelope,
  ): readonly Webhook[] {
    return this.webhooks.matching(type, audience).filter((webhook) => {
      const mayPark = verdict === 'new' || webhook.status === 'disabled';
      if (mayPark && !handle.isParked(webhook.id) && this.parking.isDue(webhook)) handle.park(webhook.id);
      if (!handle.isParked(webhook.id)) return true;
      running.parked(webhook.id);
      return false;
    });
  }
}
