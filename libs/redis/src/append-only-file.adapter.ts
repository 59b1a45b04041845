import type { Shard } from './shard.js';

/** Start of Redis (its `run_id`) whose append-only file was rewritten last. */
const rewrittenKey = (shard: Shard): string => shard.key('rewritten');

/**
 * Makes Redis rewrite its append-only file once after each of its starts; resolves when the rewrite has begun.
 *
 * A crash of the machine can tear that file inside a transaction, which every script of several writes is. Redis leaves
 * the torn transaction out when it starts, but servers without valkey-io/valkey#4342 leave its beginning in the file: at
 * the next start it is taken together with whatever was written behind it, so jobs would stand in two lists or in none.
 * A rewritten file is free of it.
 * @throws when Redis is away or refuses
 */
export async function rewriteAfterRestart(shard: Shard): Promise<void> {
  const { redis } = shard;
  const info = await redis.info();
  const run = /^run_id:(\S+)/m.exec(info)?.[1] ?? '';
  if (!/^aof_enabled:1/m.test(info) || (await redis.get(rewrittenKey(shard))) === run) return;
  try {
    await redis.bgrewriteaof();
  } catch (error) {
    if (!(error instanceof Error && /in progress/.test(error.message))) throw error;
  }
  // Only now: a request that was lost on its way must be made again. Asked twice it is refused while it runs.
  await redis.set(rewrittenKey(shard), run);
}

/** Whether the file was rewritten since Redis started, and no rewrite is running. @throws when Redis is away */
export async function isRewritten(shard: Shard): Promise<boolean> {
  const { redis } = shard;
  const info = await redis.info();
  const isDone = /^aof_rewrite_in_progress:0/m.test(info) && /^aof_rewrite_scheduled:0/m.test(info);
  return isDone && (await redis.get(rewrittenKey(shard))) === /^run_id:(\S+)/m.exec(info)?.[1];
}
