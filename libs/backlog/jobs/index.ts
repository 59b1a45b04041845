// Queued deliveries: the format of a job, its body, the number of jobs of each webhook, and the indexes by which jobs become
// due early. The names of the two BullMQ queues and the functions that read their state are here too. A job never contains a
// credential. A large body is stored once for all its jobs. `retry` adds jobs and decides when they are due. `dead-letters`
// handles the deliveries that were given up.
export { DeliveryJob, newJob, NO_WEBHOOK, StoredJob, withBodyAside, type QueuedDelivery } from './delivery-job.js';
export { DisabledWebhookJobs, MisdatedJobs, UnprovenJobs } from './held-jobs.adapter.js';
export { JobBodies } from './job-bodies.adapter.js';
export { countDeliveries, countJobs, readQueues, repliesOf, type QueueState } from './queue-state.adapter.js';
export { bullOptions, dueTime, dueTimeOf, LazyQueue, ShardQueues, untilStored } from './queues.adapter.js';
export { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, DUE_FIELD, QUEUE_SHARDS } from './queues.adapter.js';
export { envelopeIdOf, INDEXED_S, ofEnvelopeKey } from './queues.adapter.js';
export { WaitingJobs, type Recount, type WaitingCount } from './waiting-jobs.adapter.js';
