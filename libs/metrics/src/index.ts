// Owns the gauges of the stores: queues, consumer lag, memory, shards, registrations, replays, keys and the clock.
// Guarantees that a value is read when it is scraped or left out, never old, and that no label carries an id.
// Leaves to the worker which stores are read, and to `telemetry` what a process says of itself.
export { registerClock, watchClock } from './clock-watch.js';
export { registerKeyAges } from './key-ages.adapter.js';
export { registerMissingKeys } from './missing-keys.js';
export {
  fullestMemory,
  fullestOf,
  readDisks,
  readMemory,
  type RedisDisks,
  type RedisMemory,
} from './redis-memory.adapter.js';
export { registerStoreGauges, type StoreSources } from './store-gauges.js';
export { registerShardGauges } from './shard-gauges.js';
export { readShards, type ShardState } from './shard-states.adapter.js';
