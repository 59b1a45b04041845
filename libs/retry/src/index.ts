// Owns what becomes of a delivery after an attempt: the schedule, the disposition, the queue of trouble and the dead
// letters, both BullMQ queues that an operator looks at. Guarantees that attempts are counted by us alone, that adding
// twice changes nothing, that no job holds a credential, and that a large body is stored once for all its jobs. Leaves to the worker when an attempt is made, and to
// `delivery` what an attempt's outcome is.
export {
  bullOptions,
  BullmqRetryQueue,
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  DUE_FIELD,
} from './bullmq-retry-queue.adapter.js';
export { LetterIndex } from './letter-index.adapter.js';
export { LetterEnd } from './letter-end.js';
export { DeadLetter } from './dead-letter.js';
export { DeliveryJob, newJob, NO_WEBHOOK } from './delivery-job.js';
export {
  DEFAULT_HORIZON_MS,
  disposition,
  isBeyondHorizon,
  type DeadLetterReason,
  type Disposition,
  type RetryPolicy,
} from './disposition.js';
export { dueTime } from './due-time.adapter.js';
export { dueTimeOf } from './due-time.js';
export { HeldJobs } from './held-jobs.adapter.js';
export { JobBodies } from './job-bodies.adapter.js';
export { RetryQueue, type QueuedDelivery } from './retry-queue.port.js';
export { INLINE_BYTES, StoredJob, StoredLetter } from './stored-job.js';
export { Undeliverable } from './undeliverable.js';
export { UnprovenJobs } from './unproven-jobs.adapter.js';
export { UnsettledJobs, type Unsettled } from './unsettled-jobs.adapter.js';
export { untilStored } from './until-stored.js';
export { WaitingJobs, type Waiting } from './waiting-jobs.adapter.js';
export { DEFAULT_SCHEDULE, parseSchedule, retryDelay, type Schedule } from './schedule.js';
