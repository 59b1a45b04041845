// Owns the deliveries in the BullMQ queues as records: the format of a job, its body, the webhook it waits for, and what
// makes it due early. Guarantees that no job holds a credential, and that a large body is stored once for all its jobs.
// Leaves to `retry` when a job is due and how it is added, and to `dead-letters` those that were given up.
export { DeliveryJob, newJob, NO_WEBHOOK } from './delivery-job.js';
export type { DeliveryQueue, QueuedDelivery } from './delivery-queue.port.js';
export { dueTime } from './due-time.adapter.js';
export { dueTimeOf } from './due-time.js';
export { INDEXED_S, OF_ENVELOPE } from './envelope-index.js';
export { HeldJobs } from './held-jobs.adapter.js';
export { JobBodies } from './job-bodies.adapter.js';
export { countDeliveries, readQueues, type QueueState } from './queue-state.adapter.js';
export { bullOptions, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, DUE_FIELD } from './queues.js';
export { StoredJob, withBodyAside } from './stored-job.js';
export { UnprovenJobs } from './unproven-jobs.adapter.js';
export { untilStored } from './until-stored.js';
export { WaitingJobs, type WaitingCount } from './waiting-jobs.adapter.js';
