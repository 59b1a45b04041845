import { keyringEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { DeadLetterBox, DeadLetterDesk, LetterEnds } from '@relay/operations';
import { BullmqRetryQueue } from '@relay/retry';
import { RedisWebhookView } from '@relay/webhooks';
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
  const keyring = replaying ? Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS) : undefined;
  return withRegistry(shell, async ({ redis, registry, publisher, settings }) => {
    const view = keyring === undefined ? undefined : new RedisWebhookView(redis, registry.of('webhook'), keyring);
    await view?.reload();
    const box = new DeadLetterBox(redis);
    const queue = new BullmqRetryQueue(redis);
    const ends = new LetterEnds(publisher, settings.KAFKA_TOPIC_PREFIX);
    const result = await work(new DeadLetterDesk(box, queue, view ?? NO_WEBHOOKS, ends, Date.now));
    await Promise.all([box.close(), queue.close()]);
    return result;
  });
}
