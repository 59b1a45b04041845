import type { Redis } from 'ioredis';

/** Bytes; `max` is 0 when Redis has no limit. */
export interface RedisMemory {
  readonly used: number;
  readonly max: number;
}

export async function readMemory(redis: Redis): Promise<RedisMemory> {
  const info = await redis.info('memory');
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: bytesOf('used_memory'), max: bytesOf('maxmemory') };
}
