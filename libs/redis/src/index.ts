// Owns the connection to Redis, the beginnings of all keys (what is global, and shards), running Lua scripts, the time that all processes
// share, and a complete append-only file after a restart of Redis. It has no domain words but a view of a log and the lines of notices: each domain lib has an adapter and scripts of its own.
// Guarantees that a `command` connection never queues or resends by itself, and that a script is loaded again when Redis has
// forgotten it.
// Leaves repeating to the caller, who knows what a repeat means.
export { AppendOnlyFile, readDisk, type DiskState } from './append-only-file.adapter.js';
export { askNode, type NodeLogin } from './cluster-node.adapter.js';
export { nodesOf, primaryOf, type ClusterNode } from './cluster-nodes.js';
export { clientNameOf, connectedRoles } from './connected-roles.adapter.js';
export { diskFaultIn } from './disk-fault.js';
export { globalKey, GLOBAL_TAG } from './keys.js';
export type { LogView, ViewPart } from './log-view.port.js';
export { droppedNoticesOf, NOTICE_LINES, noticeClaimsOf, NOTICES, noticeLinesLua } from './notice-lines.script.js';
export {
  NO_REGISTRY,
  readRegistryVersion,
  REGISTRY_APPLIED,
  REGISTRY_REBUILDING,
  registryVersionKeys,
  registryVersionLua,
} from './registry-version.script.js';
export { OneServer } from './one-server.adapter.js';
export { isRedisAway } from './redis-away.js';
export {
  connectRedis,
  nodeLogin,
  redisFault,
  redisReady,
  type RedisSettings,
  type RedisUse,
} from './redis-client.adapter.js';
export { defineScript, runScript } from './script.adapter.js';
export { onlyShard, Shard } from './shard.js';
export { connectShards } from './shard-connections.adapter.js';
export { hostTime, StoreClock } from './store-clock.js';
export { oneShard, shardNumber, Shards, shardsOn, shardTags, type PerShard } from './shards.js';
