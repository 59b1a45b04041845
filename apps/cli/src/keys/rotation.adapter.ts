import { usesOf, type KeyUse } from '@relay/doctor';
import { RedisClientStore, type ClientCommand } from '@relay/identity';
import type { Keyring } from '@relay/keyring';
import { RedisSealedWebhooks, type WebhookCommand } from '@relay/webhooks';
import { assertShared } from '../keyring.adapter.js';
import type { Progress } from '../shown-progress.js';
import type { Stores } from '../registry.adapter.js';

const AT_ONCE = 16;

export interface RotationReport {
  /** The key that seals from now on. */
  readonly key: string;
  readonly reencrypted: number;
  readonly skipped: number;
  /** Webhooks with a value that no key opens; they are unchanged. */
  readonly unreadable: readonly string[];
  /** The records that still need the other keys. */
  readonly olderKeys: readonly KeyUse[];
}

/**
 * Seals the secrets of every webhook under the writing key, with one registry command for each webhook, while all
 * processes run. May be killed and repeated: it skips values under that key.
 * @throws RegistryUnavailable when a change was not confirmed
 * @throws Error when no process has the writing key: no worker could open what this seals
 */
export async function rotate(
  { redis, registry }: Pick<Stores, 'redis' | 'registry'>,
  keyring: Keyring,
  shown: Progress,
): Promise<RotationReport> {
  await assertShared(keyring, redis);
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
