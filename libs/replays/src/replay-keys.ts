import { globalKey } from '@relay/redis';

/** Hash of the running and paused replays, range key → id. */
export const REPLAYS = globalKey('replays');
/** Set of the range keys of the paused replays. */
export const PAUSED = globalKey('replays', 'paused');
/** With several shards: sorted set of the replays that ended lately, each `<id> <range key>`, by the time of their end. */
export const ENDED = globalKey('replays', 'ended');
/** Hash of a replay: the facts of its order. */
export const replayKeyOf = (id: string): string => globalKey('replay', id);
/**
 * Hash of a range key, `<topic>/<partition>` → its ranges there, and `endedAt`. With one shard they are those that are left, with several
 * those that were ordered.
 */
export const orderKeyOf = (...rangeKey: readonly string[]): string => globalKey('parked', ...rangeKey);
