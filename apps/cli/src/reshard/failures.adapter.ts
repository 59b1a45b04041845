import type { Shard } from '@relay/redis';
import type { Move } from './move.js';

/** Fields of the last failure and of a good answer, as JSON; the others count failures by hour. */
const FACTS = new Set(['last', 'good']);

/**
 * Copies the counts of failed attempts. They do not tell the envelopes, and readers sum them over all shards: those of old shard k go
 * to new shard k modulo their number.
 */
export async function copyFailures({ from, to, inventory, writes }: Move): Promise<void> {
  for (const webhookId of inventory.names.failed) {
    const sums = new Map<Shard, { fields: Map<string, string>; life: number }>();
    for (const [number, shard] of from.all.entries()) {
      const key = shard.key('failed', webhookId);
      const [fields, life] = await Promise.all([shard.redis.hgetall(key), shard.redis.pttl(key)]);
      if (Object.keys(fields).length === 0) continue;
      const target = to.all[number % to.all.length] as Shard;
      const sum = sums.get(target) ?? { fields: new Map<string, string>(), life };
      for (const [name, value] of Object.entries(fields))
        sum.fields.set(name, joined(name, value, sum.fields.get(name)));
      sums.set(target, { ...sum, life: Math.max(sum.life, life) });
    }
    for (const [shard, { fields, life }] of sums)
      writes.add(shard, 500, (pipeline) => {
        pipeline.hset(shard.key('failed', webhookId), Object.fromEntries(fields));
        if (life > 0) pipeline.pexpire(shard.key('failed', webhookId), life);
      });
    await writes.relieve();
  }
}

function joined(name: string, value: string, other: string | undefined): string {
  if (other === undefined) return value;
  if (!FACTS.has(name)) return String(Number(value) + Number(other));
  return timeOf(value) > timeOf(other) ? value : other;
}

const timeOf = (facts: string): number => (JSON.parse(facts) as { at: number }).at;
