import type { Redis } from 'ioredis';
import { PARKED } from './redis-partition-progress.adapter.js';

interface Registered {
  readonly id: string;
  readonly status: 'active' | 'disabled' | 'parked';
}

/** A parked webhook is registered as active, and its deliveries wait in the log. */
export type ShownStatus = Registered['status'];

/** Adds to each webhook the status that its partner sees. */
export async function withShownStatus<W extends Registered>(
  redis: Redis,
  webhooks: readonly W[],
): Promise<{ readonly webhook: W; readonly status: ShownStatus }[]> {
  const parked = new Set(await redis.smembers(PARKED));
  return webhooks.map((webhook) => ({
    webhook,
    status: webhook.status === 'active' && parked.has(webhook.id) ? 'parked' : webhook.status,
  }));
}
