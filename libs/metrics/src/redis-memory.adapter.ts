import { readDisk, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';

/** Bytes; `max` is 0 when Redis has no limit. */
export interface RedisMemory {
  readonly used: number;
  readonly max: number;
}

export const readMemory = async (redis: Redis): Promise<RedisMemory> => memoryIn(await redis.info('memory'));

/** @param info the answer to INFO */
export function memoryIn(info: string): RedisMemory {
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: bytesOf('used_memory'), max: bytesOf('maxmemory') };
}

/** The memory of the server that is nearest to its limit. */
export const fullestMemory = async (shards: Pick<Shards, 'connections'>): Promise<RedisMemory> =>
  fullestOf(await Promise.all(shards.connections.map(readMemory)));

/** @param all at least one */
export const fullestOf = (all: readonly RedisMemory[]): RedisMemory =>
  all.reduce((most, each) => (shareOf(each) > shareOf(most) ? each : most));

const shareOf = ({ used, max }: RedisMemory): number => (max === 0 ? 0 : used / max);

/** What the servers say of their disks. */
export interface RedisDisks {
  /** Whether each of them writes to its own without a fault. */
  readonly isWell: boolean;
  /** Of the one that was started last. */
  readonly uptimeS: number;
}

export async function readDisks({ servers }: Pick<Shards, 'servers'>): Promise<RedisDisks> {
  const all = await Promise.all(servers.map(readDisk));
  return {
    isWell: all.every(({ fault }) => fault === undefined),
    uptimeS: Math.min(...all.map(({ uptimeS }) => uptimeS)),
  };
}
