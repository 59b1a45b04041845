import type { Shard, Shards } from '@relay/redis';
import type { HistoryLine } from './history-line.js';

/**
 * Places of the lines of a shard among the lines of all shards that ended in the same millisecond: each shard numbers its lines from 0 on,
 * so line p of shard k is `p · n + k` of n shards. No two lines of a webhook have the same place, and with one shard it is that of Redis.
 */
export class Places {
  /** @param shard its number, from 0 on */
  constructor(
    private readonly shard: number,
    private readonly shards: number,
  ) {}

  /** A line of this shard with its place among all. */
  amongAll(line: HistoryLine): HistoryLine {
    return { ...line, place: line.place * this.shards + this.shard };
  }

  /** The first place in this shard that is not before a place among all. */
  inShard(place: number): number {
    return Math.max(0, Math.ceil((place - this.shard) / this.shards));
  }
}

export const placesIn = (shards: Shards, shard: Shard): Places =>
  new Places(shards.all.indexOf(shard), shards.all.length);
