import type { DeliveryJob } from './delivery-job.js';

/** A delivery to be attempted at a time, in milliseconds since the epoch. */
export interface QueuedDelivery {
  job: DeliveryJob;
  at: number;
}

/** Takes deliveries to be attempted later. */
export interface DeliveryQueue {
  /** Resolves when the delivery is stored. */
  add(delivery: QueuedDelivery): Promise<void>;
}
