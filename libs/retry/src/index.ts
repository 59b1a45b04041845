// Owns what becomes of a delivery after an attempt: the schedule, the disposition, the queue of trouble and the dead
// letters, both BullMQ queues that an operator looks at. Guarantees that attempts are counted by us alone, that adding
// twice changes nothing, that no job holds a credential, and that a large body is stored once for all its jobs. Leaves to the worker when an attempt is made, and to
// `delivery` what an attempt's outcome is.
export { BullmqRetryQueue } from './bullmq-retry-queue.adapter.js';
export { DEFAULT_HORIZON_MS, disposition, isBeyondHorizon, type Disposition, type RetryPolicy } from './disposition.js';
export { PendingDeliveries, type PendingDelivery } from './pending-deliveries.adapter.js';
export { RetryQueue } from './retry-queue.port.js';
export { DEFAULT_SCHEDULE, parseSchedule } from './schedule.js';
