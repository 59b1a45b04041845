import { keyringEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { DeadLetterBox, DeadLetterDesk } from '@relay/operations';
import { BullmqRetryQueue } from '@relay/retry';
import { RedisWebhookView } from '@relay/webhooks';
import type { Redis } from 'ioredis';
import { withRedis } from '../connections.adapter.js';
import { withRegistry } from '../registry.adapter.js';
import { settingsOf } from '../settings.js';
import type { Shell } from '../shell.js';

const NO_WEBHOOKS = { find: () => undefined, matching: () => [] };

/** Works with the dead letters; the registrations, and with them the keys, are needed only to replay. */
export function withDesk<T>(
  shell: Shell,
  work: (desk: DeadLetterDesk) => Promise<T>,
  { replaying = false } = {},
): Promise<T> {
  if (!replaying) return withRedis(shell, (redis) => atDesk(redis, NO_WEBHOOKS, work));
  const keyring = Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS);
  return withRegistry(shell, async ({ redis, registry }) => {
    const view = new RedisWebhookView(redis, registry.of('webhook'), keyring);
    await view.reload();
    return atDesk(redis, view, work);
  });
}

async function atDesk<T>(
  redis: Redis,
  webhooks: ConstructorParameters<typeof DeadLetterDesk>[2],
  work: (desk: DeadLetterDesk) => Promise<T>,
): Promise<T> {
  const box = new DeadLetterBox(redis);
  const queue = new BullmqRetryQueue(redis);
  const result = await work(new DeadLetterDesk(box, queue, webhooks, Date.now));
  await Promise.all([box.close(), queue.close()]);
  return result;
}
