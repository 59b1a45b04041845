import { RedisClientStore, type ClientCommand } from '@relay/identity';
import type { Keyring } from '@relay/keyring';
import { RedisSealedWebhooks, type WebhookCommand } from '@relay/webhooks';
import type { Progress } from '../shown-progress.js';
import type { Stores } from '../registry.adapter.js';
import { usesOf, type KeyUse } from './key-use.js';

const AT_ONCE = 16;

export interface RotationReport {
  /** The key that everything is to be under. */
  readonly key: string;
  readonly reencrypted: number;
  readonly skipped: number;
  /** Webhooks of which no key opens a value; they were left as they are. */
  readonly unreadable: readonly string[];
  /** What needs the other keys now. */
  readonly olderKeys: readonly KeyUse[];
}

/**
 * Seals what is kept for every webhook under the writing key, each webhook by one command of the registry while all processes
 * run. May be killed at any moment and run again: what is under the key is passed over.
 * @throws RegistryUnavailable when a change was not confirmed
 */
export async function rotate(
  { redis, registry }: Pick<Stores, 'redis' | 'registry'>,
  keyring: Keyring,
  shown: Progress,
): Promise<RotationReport> {
  const webhooks = new RedisSealedWebhooks(redis, registry.of<WebhookCommand>('webhook'), keyring, Date.now);
  const counts = { reencrypted: 0, skipped: 0 };
  const unreadable: string[] = [];
  shown.begin('re-encrypting webhooks', await webhooks.count());
  for await (const ids of webhooks.ids()) {
    const waiting = ids.values();
    const lane = async (): Promise<void> => {
      for (const id of waiting) {
        const became = await webhooks.reseal(id);
        if (became === 'resealed') counts.reencrypted += 1;
        else if (became === 'unreadable') unreadable.push(id);
        else counts.skipped += 1;
        shown.done(1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }
  const [key = '', ...older] = keyring.kids;
  const clients = await new RedisClientStore(redis, registry.of<ClientCommand>('client')).list();
  return { key, ...counts, unreadable, olderKeys: usesOf(older, await webhooks.byKey(), clients) };
}
