// Owns the gauges of the stores: queues, consumer lag, memory, shards, registrations, replays, keys and the clock.
// Guarantees that a value is read when it is scraped or left out, never old, and that no label carries an id.
// Leaves to the worker which stores are read, and to `telemetry` what a process says of itself.
export {
  registerClock,
  registerKeyAges,
  registerMissingKeys,
  registerShardGauges,
  registerStoreGauges,
  watchClock,
} from './gauges.js';
export {
  fullestMemory,
  fullestOf,
  readDisks,
  readMemory,
  readShards,
  type RedisMemory,
} from './redis-states.adapter.js';
