import type { EnvelopeRecord } from '@relay/events';
import { type DeliveryJob, newJob } from '@relay/jobs';
import type { Webhook } from '@relay/webhooks';
import type { StoreAgain } from '../log/log-chunk.js';

/** Settles the record of a dispatched delivery. */
export interface DeliverySettler {
  /**
   * Called once for each delivery, when it was answered 2xx or its job or dead letter is stored.
   * @param again stores that job or dead letter again
   */
  settled(webhook: Webhook, again?: StoreAgain): void;
}

/** A delivery whose first attempt is made straight from the log. */
export interface StraightDelivery {
  readonly webhook: Webhook;
  readonly record: EnvelopeRecord;
  readonly settler: DeliverySettler;
  /** Number of the replay that it belongs to; 0 without one. */
  readonly series?: number;
  /** Set if the delivery waited in the log for a parked webhook, or belongs to a replay. */
  readonly isCaughtUp?: true;
}

export const jobOf = ({ webhook, record, series }: StraightDelivery): DeliveryJob => newJob(webhook, record, series);
