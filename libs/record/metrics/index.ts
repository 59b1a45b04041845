// Owns the gauges of the stores: queues, consumer lag, memory, shards, registrations, replays, keys and the clock.
// Guarantees that a gauge shows a value read within the last seconds or no value, and that no label has an id.
// Leaves to the worker the choice of the stores to read, and to `telemetry` the metrics of the process itself.
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
