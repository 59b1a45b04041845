// Owns the connection to Redis, our key prefix, how Lua scripts are run, and that Redis' file is whole after its restarts. No domain words: each domain lib has its
// own adapter with its own scripts, and the name of what is a view of a log. Guarantees that a `command` connection never queues or resends by itself, and that
// a script is loaded again where Redis has forgotten it. Leaves retrying to the caller, who knows what a repeat means.
export { isRewritten, rewriteAfterRestart } from './append-only-file.adapter.js';
export { redisKey, shardPrefix } from './keys.js';
export type { LogView, ViewPart } from './log-view.port.js';
export {
  NO_REGISTRY,
  readRegistryVersion,
  REGISTRY_APPLIED,
  REGISTRY_REBUILDING,
  registryVersionKeys,
  registryVersionLua,
} from './registry-version.script.js';
export { isRedisAway } from './redis-away.js';
export { connectRedis, redisFault, redisReady, type RedisSettings, type RedisUse } from './redis-client.adapter.js';
export { defineScript, runScript, type Script } from './script.adapter.js';
