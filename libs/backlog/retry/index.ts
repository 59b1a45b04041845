// Owns the decision about a delivery after an attempt: the retry schedule, the horizon, and the port that stores a delivery
// as a job or as a dead letter, with its BullMQ adapter. It also finds the pending deliveries of a partner. Guarantees that
// attempts are counted by the relay and not by BullMQ, and that adding the same id twice has no effect. Leaves the format of
// the records to `jobs` and `dead-letters`, the outcome of an attempt to `delivery`, and the time of an attempt to the
// worker.
export { BullmqRetryQueue } from './bullmq-retry-queue.adapter.js';
export { DEFAULT_HORIZON_MS, disposition, isBeyondHorizon, longestWait, parseSchedule } from './disposition.js';
export { standing, standingAfter, type Disposition, type RetryPolicy, type Standing } from './disposition.js';
export { PendingDeliveries, type PendingDelivery } from './pending-deliveries.adapter.js';
export { RetryQueue } from './retry-queue.port.js';
