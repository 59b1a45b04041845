// Owns the records of queued deliveries: the format of a job, its body, the count of each webhook, and the indexes by which
// jobs become due early. Owns the names of the two BullMQ queues and the reading of their state.
// Guarantees that no job holds a credential, and that a large body is stored once for all its jobs.
// Leaves to `retry` how a job is added and when it is due, and to `dead-letters` the deliveries that were given up.
export { DeliveryJob, newJob, NO_WEBHOOK } from './delivery-job.js';
export type { DeliveryQueue, QueuedDelivery } from './delivery-queue.port.js';
export { dueTime } from './due-time.adapter.js';
export { dueTimeOf } from './due-time.js';
export { INDEXED_S, ofEnvelopeKey } from './envelope-index.js';
export { DisabledWebhookJobs } from './disabled-webhook-jobs.adapter.js';
export { hasten } from './hasten.adapter.js';
export { JobBodies } from './job-bodies.adapter.js';
export { LazyQueue } from './lazy-queue.adapter.js';
export { MisdatedJobs } from './misdated-jobs.adapter.js';
export { countDeliveries, countJobs, readQueues, type QueueState } from './queue-state.adapter.js';
export { bullOptions, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, DUE_FIELD } from './queues.js';
export { envelopeIdOf } from './envelope-of-job.js';
export { StoredJob, withBodyAside } from './stored-job.js';
export { UnprovenJobs } from './unproven-jobs.adapter.js';
export { untilStored } from './until-stored.js';
export { WaitingJobs, type Recount, type WaitingCount } from './waiting-jobs.adapter.js';
