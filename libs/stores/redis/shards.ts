import { crc32 } from 'node:zlib';
import type { Redis } from 'ioredis';

/** The hash tag of global keys. If a deployment has one shard, this is also the tag of the shard (docs/adr/0028). */
export const GLOBAL_TAG = '{relay:0}';

/** Returns the full name of a global key, which belongs to no envelope, such as `{relay:0}:webhooks`. */
export const globalKey = (...parts: readonly (string | number)[]): string => [GLOBAL_TAG, ...parts].join(':');

/**
 * One hash slot of Redis Cluster, and a connection to the server that has this slot. One shard contains the whole state of
 * an envelope: its marks, jobs, bodies and dead letters, and the progress that includes the envelope. So one script can
 * write this state, and a backup contains all of it as of one moment.
 */
export class Shard {
  /** @param tag the hash tag with which all keys of the shard begin, such as `{relay:0}` */
  constructor(
    readonly redis: Redis,
    readonly tag: string,
  ) {}

  get isGlobal(): boolean {
    return this.tag === GLOBAL_TAG;
  }

  /** Returns the full name of a key, such as `{relay:0}:seen`. */
  key(...parts: readonly (string | number)[]): string {
    return [this.tag, ...parts].join(':');
  }
}

/** Returns the only shard of a deployment with one shard. It is in the slot of the global keys (docs/adr/0028). */
export const onlyShard = (redis: Redis): Shard => new Shard(redis, GLOBAL_TAG);

export interface PerShard<T> {
  readonly all: readonly T[];
  of(envelopeId: string): T;
}

/**
 * The shards of a deployment. The id of an envelope decides which shard has it, as long as the number of shards stays
 * (docs/adr/0028).
 */
export class Shards {
  readonly #global: Redis | undefined;

  /**
   * @param all at least one shard; their order decides which envelope belongs to which shard
   * @param global the connection to the global keys
   */
  constructor(
    readonly all: readonly Shard[],
    global?: Redis,
  ) {
    this.#global = global;
  }

  /** The connection to the global keys. If one server has everything, it is also the connection of the shards. */
  get global(): Redis {
    return this.#global ?? (this.all[0] as Shard).redis;
  }

  /** Each connection once, including the connection to the global keys. */
  get connections(): readonly Redis[] {
    const global = this.#global === undefined ? [] : [this.#global];
    return [...new Set([...global, ...this.all.map(({ redis }) => redis)])];
  }

  /** One shard for each connection, for what is done once for each server. */
  get servers(): readonly Shard[] {
    return [...new Map([...this.all, onlyShard(this.global)].map((shard) => [shard.redis, shard])).values()];
  }

  of(envelopeId: string): Shard {
    return this.all[shardNumber(envelopeId, this.all.length)] as Shard;
  }

  per<T>(make: (shard: Shard) => T): PerShard<T> {
    const all = this.all.map(make);
    return { all, of: (envelopeId) => all[shardNumber(envelopeId, all.length)] as T };
  }

  /** Divides items by the shards of their envelopes. Each part keeps the order of the items. */
  divide<T>(items: readonly T[], envelopeIdOf: (item: T) => string): readonly (readonly [Shard, readonly T[]])[] {
    const [only, ...others] = this.all;
    if (only === undefined || items.length === 0) return [];
    if (others.length === 0) return [[only, items]];
    const parts = new Map<Shard, T[]>();
    for (const item of items) {
      const shard = this.of(envelopeIdOf(item));
      const part = parts.get(shard);
      if (part === undefined) parts.set(shard, [item]);
      else part.push(item);
    }
    return [...parts];
  }
}

/**
 * Returns which of `count` shards an envelope belongs to, by the highest bits of the CRC-32 (RFC 1952) of the 16 bytes of
 * its id. The bucket of the envelope's seen mark depends on the lowest bits of these bytes, so all buckets are used within a
 * shard.
 */
export function shardNumber(envelopeId: string, count: number): number {
  if (count === 1) return 0;
  return Math.floor((crc32(Buffer.from(envelopeId.replaceAll('-', ''), 'hex')) * count) / 2 ** 32);
}

/**
 * Returns the hash tags of `count` shards. If there are several, each tag contains the count, so different counts share no
 * key.
 */
export const shardTags = (count: number): readonly string[] =>
  count === 1 ? [GLOBAL_TAG] : Array.from({ length: count }, (_, number) => `{relay:${number}/${count}}`);

export const shardsOn = (redis: Redis, count: number): Shards =>
  new Shards(shardTags(count).map((tag) => new Shard(redis, tag)));

/** Returns the shards of a deployment with one shard, which is in the slot of the global keys. */
export const oneShard = (redis: Redis): Shards => shardsOn(redis, 1);
