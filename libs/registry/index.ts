// Owns the registry: the log of every change of clients and webhooks, and the one script that applies it to Redis.
// Guarantees that an answered change survives any loss of Redis' latest writes, that changes take effect once each and in the
// order of the log, whichever process sends or applies them, and that nothing is read from a Redis that may lack some.
// Leaves to the domains the meaning of a command (`identity` and `webhooks` bring their Lua), and to the apps the answer to a
// caller.
export { Deployment, deploymentName, deploymentText, ForeignRedis, RegistryClaim } from './registry-claim.adapter.js';
export { beginMove, endMove, takeUp } from './registry-claim.adapter.js';
export { KeyCheck, faultOfKeys, sealingFault, type KeyCommand } from './key-check.adapter.js';
export { keyKeys } from './registry.script.js';
export { KafkaRegistryLog } from './kafka-registry-log.adapter.js';
export { RegistryCompaction, type Compaction } from './registry-compaction.adapter.js';
export { RegistryView } from './registry-view.adapter.js';
export { RegistryLog, type LoggedCommand } from './registry-log.port.js';
