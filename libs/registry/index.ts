// Owns the registry: the log of all changes of clients, webhooks, keys and event types, and the script that applies them to
// Redis.
// Guarantees that a change that was answered is not lost even if Redis loses its latest writes; that each change takes
// effect once and in the order of the log, whichever process sends or applies it; and that nothing is read from a Redis in
// which changes may be missing.
// Leaves to the domains what a command means (for example, `identity` and `webhooks` provide the Lua for theirs), and to the
// apps the answer to the caller.
export { Deployment, deploymentName, deploymentText, ForeignRedis, RegistryClaim } from './registry-claim.adapter.js';
export { beginMove, endMove, takeUp } from './registry-claim.adapter.js';
export { KeyCheck, faultOfKeys, sealingFault, type KeyCommand } from './key-check.adapter.js';
export { keyKeys } from './registry.script.js';
export { KafkaRegistryLog } from './kafka-registry-log.adapter.js';
export { RegistryCompaction, type Compaction } from './registry-compaction.adapter.js';
export { RegistryView } from './registry-view.adapter.js';
export { RegistryLog, type LoggedCommand } from './registry-log.port.js';
