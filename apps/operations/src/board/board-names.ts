/** Ends the name of a group of queues. No name of a queue has one. */
export const GROUP_END = '.';

/** A group of the board, before the name of a queue. */
export const GROUP = String.raw`shard-\d{1,5}\.`;

/**
 * The beginning of the names that the board gives the queues of a shard, whose own names are those of all shards. The board shows what it ends
 * as a group. Empty where there is one shard.
 * @param number of the shard, from 0 on
 */
export const groupOf = (number: number, shards: number): string => (shards === 1 ? '' : `shard-${number}${GROUP_END}`);
