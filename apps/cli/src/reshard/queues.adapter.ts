import { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, envelopeIdOf } from '@relay/jobs';
import { divide } from './divided-keys.adapter.js';
import type { Move } from './move.js';

/** Lists and sorted sets of job ids, by the states of BullMQ. */
export const LISTS = ['wait', 'active', 'paused'] as const;
export const SORTED = ['delayed', 'prioritized', 'completed', 'failed', 'waiting-children'] as const;
export const QUEUES = [DELIVERIES_QUEUE, DEAD_LETTERS_QUEUE] as const;
const PAGE = 1_000;

/**
 * Copies both queues of BullMQ but for the hashes of their jobs. A job keeps its state, and its order among the jobs of one old shard.
 * What a worker did not end is left active: BullMQ takes it up again as stalled.
 */
export async function copyQueues(move: Move): Promise<void> {
  for (const queue of QUEUES) {
    for (const list of LISTS) await copyList(move, queue, list);
    for (const state of SORTED)
      await divide(move, { parts: [queue, state], type: 'sorted', envelopeOf: (id) => envelopeIdOf(id.toString()) });
    await copySettings(move, queue);
  }
}

async function copyList({ from, to, writes }: Move, queue: string, list: string): Promise<void> {
  for (const shard of from.all)
    for (let at = 0; ; at += PAGE) {
      const ids = await shard.redis.lrange(shard.key(queue, list), at, at + PAGE - 1);
      for (const [target, part] of to.divide(ids, envelopeIdOf))
        writes.add(target, 100 * part.length, (pipeline) => pipeline.rpush(target.key(queue, list), ...part));
      await writes.relieve();
      if (ids.length < PAGE) break;
    }
}

/** Every new shard gets the settings of all old ones: a queue that was paused in one is paused in all. */
async function copySettings({ from, to, writes }: Move, queue: string): Promise<void> {
  const counters = { id: 0, pc: 0 };
  const meta: Record<string, string> = {};
  const markers: string[] = [];
  for (const shard of from.all) {
    Object.assign(meta, await shard.redis.hgetall(shard.key(queue, 'meta')));
    markers.push(...(await shard.redis.zrange(shard.key(queue, 'marker'), '0', '-1', 'WITHSCORES')));
    for (const name of ['id', 'pc'] as const)
      counters[name] = Math.max(counters[name], Number((await shard.redis.get(shard.key(queue, name))) ?? 0));
  }
  for (const shard of to.all)
    writes.add(shard, 500, (pipeline) => {
      if (Object.keys(meta).length > 0) pipeline.hset(shard.key(queue, 'meta'), meta);
      for (const name of ['id', 'pc'] as const)
        if (counters[name] > 0) pipeline.set(shard.key(queue, name), counters[name]);
      // A worker that waits for a job looks when the first of the old shards would have.
      for (let n = 0; n < markers.length; n += 2)
        pipeline.zadd(shard.key(queue, 'marker'), 'LT', markers[n + 1] ?? '0', markers[n] ?? '0');
    });
}
