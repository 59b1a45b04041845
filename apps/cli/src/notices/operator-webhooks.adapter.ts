import { randomBytes } from 'node:crypto';
import type { NoticeType } from '@relay/events';
import { OPERATORS } from '@relay/notices';
import { RedisWebhookStore, type WebhookCommand } from '@relay/webhooks';
import { checkedDestination } from '../destination.js';
import { assertShared, keyringOf } from '../keyring.adapter.js';
import { withRegistry } from '../registry.adapter.js';
import type { Shell } from '../shell.js';

const NAMED = { endPointName: 'relay notices', endPointDesc: 'for the operators of the relay' };

interface Added {
  readonly id: string;
  readonly eventType: NoticeType;
  /** Its signing secret. */
  readonly secret: string;
  /** Only where it was made here. */
  readonly apiKey?: string;
}

/** Registers one webhook of the operators for each type that the address does not get yet. @throws Error for a forbidden address */
export function addOperatorWebhooks(
  shell: Shell,
  address: string,
  types: readonly NoticeType[],
  given: string | undefined,
): Promise<Added[]> {
  const keyring = keyringOf(shell);
  // As at the door of the ingress.
  const endPointUrl = address.trim();
  const destination = checkedDestination(shell, endPointUrl);
  if (!destination.ok) throw new Error(`The relay does not deliver to ${endPointUrl}: ${destination.detail}`);
  const { url, origin } = destination;
  const apiKey = given ?? `notices_${randomBytes(16).toString('base64url')}`;
  return withRegistry(shell, async ({ redis, registry }) => {
    await assertShared(keyring, redis);
    const store = new RedisWebhookStore(redis, registry.of<WebhookCommand>('webhook'), keyring);
    const added: Added[] = [];
    for (const eventType of new Set(types)) {
      const draft = { eventType, endPointUrl, ...NAMED, apiKey, url, origin };
      const result = await store.register(OPERATORS, draft);
      if (result.kind !== 'created') {
        shell.note(`${eventType} is sent there already`);
        continue;
      }
      const secret = (await store.signingSecret(OPERATORS, result.id)) ?? '';
      added.push({ id: result.id, eventType, secret, ...(given === undefined ? { apiKey } : {}) });
    }
    return added;
  });
}
