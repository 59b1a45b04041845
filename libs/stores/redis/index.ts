// Owns the connection to Redis, the beginnings of all key names (for global keys and for shards), the running of Lua
// scripts, the time that all processes share, and the rewriting of the append-only file after a restart of Redis. Its only
// domain terms are the view of a log and the lines of notices, because each domain lib has its own adapter and scripts.
// Guarantees that a `command` connection never queues or resends a command by itself, and that a script is loaded again if
// Redis has forgotten it.
// Leaves retries to the caller, who knows the effect of a repeated command.
export { AppendOnlyFile, readDisk, diskFaultIn, type DiskState } from './append-only-file.adapter.js';
export { askNode, nodesOf, primaryOf, type NodeLogin, type ClusterNode } from './cluster.adapter.js';
export { clientNameOf, connectedRoles, isRedisAway, connectRedis, nodeLogin } from './redis-client.adapter.js';
export { redisFault, redisReady, connectShards } from './redis-client.adapter.js';
export type { RedisSettings, RedisUse } from './redis-client.adapter.js';
export { globalKey, GLOBAL_TAG, onlyShard, Shard, oneShard, shardNumber, Shards, shardsOn } from './shards.js';
export { shardTags } from './shards.js';
export type { PerShard } from './shards.js';
export { RegistryUnavailable, type LogView, type ViewPart } from './log-view.port.js';
export { droppedNoticesOf, NOTICE_LINES, noticeClaimsOf, NOTICES, noticeLinesLua } from './notice-lines.script.js';
export { NO_REGISTRY, readRegistryVersion, REGISTRY_APPLIED, REGISTRY_REBUILDING } from './registry-version.script.js';
export { registryVersionKeys, registryVersionLua } from './registry-version.script.js';
export { OneServer } from './primary-connector.adapter.js';
export { defineScript, runScript } from './script.adapter.js';
export { hostTime, StoreClock } from './store-clock.js';
