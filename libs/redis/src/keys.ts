/**
 * Everything of one shard lives in one hash slot of Redis Cluster, so that one script can write marks, progress and
 * jobs together. Today there is one shard; `shardPrefix` is the only place that says so.
 */
export const shardPrefix = '{relay:0}';

/** Full name of a key of ours, such as `{relay:0}:webhooks`. */
export const redisKey = (...parts: readonly (string | number)[]): string => [shardPrefix, ...parts].join(':');
