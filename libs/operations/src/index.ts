// Owns what an operator sees and does: the figures of the stores as metrics, and (in `dead-letters`) how dead letters are
// found, replayed and purged. Guarantees that a figure is read when it is asked for or left out, never old, that no figure
// carries an id, and that a letter goes only after its new jobs are stored. Leaves to the apps who may see it and how.
export { readLag, type TopicLag } from './consumer-lag.adapter.js';
export { tellKeyAges } from './key-ages.adapter.js';
export { JOB_STATES, QUEUES, readQueues, type JobState, type QueueState } from './queue-state.adapter.js';
export { readMemory, type RedisMemory } from './redis-memory.adapter.js';
export { tellStores, type StoreSources } from './store-gauges.js';
