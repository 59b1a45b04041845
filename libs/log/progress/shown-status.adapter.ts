import type { Shards } from '@relay/redis';
import { parkedKey } from './progress-keys.js';

interface Registered {
  readonly id: string;
  readonly status: 'active' | 'disabled' | 'parked';
}

/** A parked webhook is registered as active, and its deliveries wait in the log. */
export type ShownStatus = Registered['status'];

/** Returns the ids of the webhooks whose deliveries wait in the log. */
export async function parkedWebhooks(shards: Shards): Promise<ReadonlySet<string>> {
  const found = await Promise.all(shards.all.map((shard) => shard.redis.smembers(parkedKey(shard))));
  return new Set(found.flat());
}

/** Whether deliveries to this webhook wait in the log. */
export async function isParked(shards: Shards, webhookId: string): Promise<boolean> {
  const found = await Promise.all(shards.all.map((shard) => shard.redis.exists(parkedKey(shard, webhookId))));
  return found.includes(1);
}

/** Adds to each webhook the status that its partner sees. */
export async function withShownStatus<W extends Registered>(
  shards: Shards,
  webhooks: readonly W[],
): Promise<{ readonly webhook: W; readonly status: ShownStatus }[]> {
  const parked = await parkedWebhooks(shards);
  return webhooks.map((webhook) => ({
    webhook,
    status: webhook.status === 'active' && parked.has(webhook.id) ? 'parked' : webhook.status,
  }));
}
