// Owns the registry: the log of every change of clients and webhooks, and the one script that applies it to Redis.
// Guarantees that a change whose result was answered survives any loss of Redis' latest writes, that changes take effect in
// the log's order and each once, whoever sends or applies them, and that nothing is read from a Redis that may lack some.
// Leaves to the domains what a command does (`access`, `webhooks` bring their Lua), and to the apps what a caller is told.
export { KeyCheck, type KeyCommand } from './key-check.adapter.js';
export { faultOfKeys } from './key-faults.js';
export { keyKeys } from './key.script.js';
export { KafkaRegistryLog } from './kafka-registry-log.adapter.js';
export { RegistryCompaction, type Compaction, type LastSnapshot } from './registry-compaction.adapter.js';
export { RegistryView } from './registry-view.adapter.js';
export { RegistryLog, type LoggedCommand } from './registry-log.port.js';
export { RegistryUnavailable } from './registry-unavailable.js';
export { RESULTS } from './registry.script.js';
