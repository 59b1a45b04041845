// Owns queued deliveries: the format of a job, its body, the number of jobs of each webhook, and the indexes by which jobs
// become due early. It also owns the names of the two BullMQ queues and the functions that read their state. Guarantees that
// a job never contains a credential, and that a large body is stored once for all its jobs. Leaves to `retry` how jobs are
// added and when they are due, and to `dead-letters` the deliveries that were given up.
export { DeliveryJob, newJob, NO_WEBHOOK, StoredJob, withBodyAside, type QueuedDelivery } from './delivery-job.js';
export { DisabledWebhookJobs, MisdatedJobs, UnprovenJobs } from './held-jobs.adapter.js';
export { JobBodies } from './job-bodies.adapter.js';
export { countDeliveries, countJobs, readQueues, repliesOf, type QueueState } from './queue-state.adapter.js';
export { bullOptions, dueTime, dueTimeOf, LazyQueue, ShardQueues, untilStored } from './queues.adapter.js';
export { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, DUE_FIELD, QUEUE_SHARDS } from './queues.adapter.js';
export { envelopeIdOf, INDEXED_S, ofEnvelopeKey } from './queues.adapter.js';
export { WaitingJobs, type Recount, type WaitingCount } from './waiting-jobs.adapter.js';
