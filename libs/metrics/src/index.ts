// Owns the gauges of the stores: queues, consumer lag, memory, shards, registrations, replays, keys and the clock.
// Guarantees that a value is read when it is scraped or left out, never old, and that no label carries an id.
// Leaves to the worker which stores are read, and to `telemetry` what a process says of itself.
export { registerClock, registerKeyAges, registerMissingKeys, watchClock } from './process-gauges.js';
export { fullestMemory, fullestOf, readDisks, readMemory, type RedisMemory } from './redis-memory.adapter.js';
export { registerShardGauges } from './shard-gauges.js';
export { readShards } from './shard-states.adapter.js';
export { registerStoreGauges } from './store-gauges.js';
