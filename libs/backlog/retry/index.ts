// Owns the disposition of a delivery after an attempt: the schedule, the horizon, and the port by which a delivery becomes a job
// or a dead letter, with its BullMQ adapter. It also owns how partners find their pending deliveries. Guarantees that the relay
// alone counts attempts, and that adding an id twice changes nothing. Leaves the records to `jobs` and `dead-letters`, the
// outcome of an attempt to `delivery`, and its time to the worker.
export { BullmqRetryQueue } from './bullmq-retry-queue.adapter.js';
export { DEFAULT_HORIZON_MS, disposition, isBeyondHorizon, longestWait, parseSchedule } from './disposition.js';
export { standing, standingAfter, type Disposition, type RetryPolicy, type Standing } from './disposition.js';
export { PendingDeliveries, type PendingDelivery } from './pending-deliveries.adapter.js';
export { RetryQueue } from './retry-queue.port.js';
