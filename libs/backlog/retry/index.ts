// What happens to a delivery after an attempt: the retry schedule, the horizon, and the port that stores a delivery as a job
// or as a dead letter, with its BullMQ adapter. It also finds the pending deliveries of a partner. Attempts are counted by
// the relay and not by BullMQ. Adding the same id twice has no effect. `jobs` and `dead-letters` define the records.
// `delivery` decides the outcome of an attempt. The worker decides when an attempt runs.
export { BullmqRetryQueue } from './bullmq-retry-queue.adapter.js';
export { DEFAULT_HORIZON_MS, disposition, isBeyondHorizon, longestWait, parseSchedule } from './disposition.js';
export { standing, standingAfter, type Disposition, type RetryPolicy, type Standing } from './disposition.js';
export { PendingDeliveries, type PendingDelivery } from './pending-deliveries.adapter.js';
export { RetryQueue } from './retry-queue.port.js';
