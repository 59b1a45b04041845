import type { Shard } from '@relay/redis';
import { parkedKey } from './progress-keys.js';

interface Registered {
  readonly id: string;
  readonly status: 'active' | 'disabled' | 'parked';
}

/** A parked webhook is registered as active, and its deliveries wait in the log. */
export type ShownStatus = Registered['status'];

/** Adds to each webhook the status that its partner sees. */
export async function withShownStatus<W extends Registered>(
  shard: Shard,
  webhooks: readonly W[],
): Promise<{ readonly webhook: W; readonly status: ShownStatus }[]> {
  const parked = new Set(await shard.redis.smembers(parkedKey(shard)));
  return webhooks.map((webhook) => ({
    webhook,
    status: webhook.status === 'active' && parked.has(webhook.id) ? 'parked' : webhook.status,
  }));
}
