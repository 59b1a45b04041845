import type { Shard } from '@relay/redis';
import type { LogPartition } from './partition-progress.port.js';

/** Token of the running recovery; absent otherwise. */
export const recoveryKey = (shard: Shard): string => shard.key('recovery');

/** Present once the shard has known every partition that was read: it was not lost since then, and can only be older. */
export const knownKey = (shard: Shard): string => shard.key('known');

/** Hash of a partition: owner, high water, sequence and how far it was read. */
export const progressKey = (shard: Shard, at: LogPartition): string => shard.key('progress', at.topic, at.partition);

/** Hash of a partition: envelope id → the webhooks that are settled while others run. */
export const partialKey = (shard: Shard, at: LogPartition): string => shard.key('partial', at.topic, at.partition);

/** Hash of a partition: range key → ranges there. */
export const parkingKey = (shard: Shard, at: LogPartition): string => shard.key('parking', at.topic, at.partition);

/** Sorted set of a partition: the offsets of repeats and conflicts inside a range. */
export const droppedKey = (shard: Shard, at: LogPartition): string => shard.key('dropped', at.topic, at.partition);

/** Set of the parked webhooks; with a range key, the hash `<topic>/<partition>` → its ranges there. */
export const parkedKey = (shard: Shard, ...rangeKey: readonly string[]): string => shard.key('parked', ...rangeKey);

/** Hash of the running replays, range key → id; used with one shard, whose flushes end replays. */
export const replaysKey = (shard: Shard): string => shard.key('replays');

/** Retention of a replay, in seconds. The log itself is kept for 7 days. */
export const REPLAY_KEPT_S = 30 * 86_400;
