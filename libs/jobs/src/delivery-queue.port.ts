import type { DeliveryJob } from './delivery-job.js';

/** A delivery and the time of its attempt in epoch milliseconds. */
export interface QueuedDelivery {
  job: DeliveryJob;
  at: number;
}

export interface DeliveryQueue {
  /** Resolves when the delivery is stored. */
  add(delivery: QueuedDelivery): Promise<void>;
}
