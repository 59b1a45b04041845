import type { Redis } from 'ioredis';
import { GLOBAL_TAG } from './keys.js';

/**
 * One hash slot of Redis Cluster, and a connection to the server that has it. What belongs to an envelope is in one shard (its marks, jobs,
 * bodies and dead letters, and the progress that counts it), so one script can write it together, and it goes back in time together.
 */
export class Shard {
  /** @param tag the hash tag with which all keys of the shard begin, such as `{relay:0}` */
  constructor(
    readonly redis: Redis,
    readonly tag: string,
  ) {}

  /** Whether what is global is in its slot. */
  get isGlobal(): boolean {
    return this.tag === GLOBAL_TAG;
  }

  /** Full name of a key, such as `{relay:0}:seen`. */
  key(...parts: readonly (string | number)[]): string {
    return [this.tag, ...parts].join(':');
  }
}

/** The one shard that a deployment has, in the slot of what is global (docs/adr/0028). */
export const onlyShard = (redis: Redis): Shard => new Shard(redis, GLOBAL_TAG);
