import { randomBytes } from 'node:crypto';
import { RedisClientStore, type ClientCommand, type ClientRecord } from '@relay/identity';
import { listenEnv } from '@relay/config';
import type { EventType } from '@relay/events';
import type { Keyring } from '@relay/keyring';
import { RedisWebhookStore, type WebhookCommand, type WebhookDraft } from '@relay/webhooks';
import { assertComplete, keyringOf } from '../keyring.adapter.js';
import { withRegistry, type Stores } from '../registry.adapter.js';
import { settingsOf } from '../settings.js';
import type { Shell } from '../shell.js';
import { partnerOf } from './partner-of.js';

/** A webhook that exists while `relay listen` runs. */
export interface DevelopmentWebhook {
  readonly id: string;
  readonly partnerId: string;
  readonly eventType: EventType;
  /** Its signing secret. */
  readonly secret: string;
}

/** @throws Error when the partner is ambiguous, or may have no further webhooks; no webhook remains then */
export function register(
  shell: Shell,
  partner: string | undefined,
  urls: ReadonlyMap<EventType, string>,
): Promise<DevelopmentWebhook[]> {
  const keyring = keyringOf(shell);
  return withRegistry(shell, async (stores) => {
    await assertComplete(keyring, stores.redis);
    const clients = await new RedisClientStore(stores.redis, stores.registry.of<ClientCommand>('client')).list();
    const owner = partnerOf(clients, partner);
    const store = storeOf(shell, stores, keyring);
    const made: Omit<DevelopmentWebhook, 'secret'>[] = [];
    try {
      for (const [eventType, url] of urls) made.push(await registerOne(store, owner, eventType, url));
      return await Promise.all(
        made.map(async (webhook) => ({
          ...webhook,
          secret: (await store.signingSecret(webhook.partnerId, webhook.id)) ?? '',
        })),
      );
    } catch (error) {
      await Promise.allSettled(made.map(({ partnerId, eventType, id }) => store.delete(partnerId, eventType, id)));
      throw error;
    }
  });
}

/** Deletes the webhooks, ignoring those already gone. @throws Error when one may remain */
export function unregister(shell: Shell, webhooks: readonly DevelopmentWebhook[]): Promise<void> {
  return withRegistry(shell, async (stores) => {
    const store = storeOf(shell, stores, keyringOf(shell));
    await Promise.all(webhooks.map(({ partnerId, eventType, id }) => store.delete(partnerId, eventType, id)));
  });
}

function storeOf(shell: Shell, stores: Stores, keyring: Keyring): RedisWebhookStore {
  const { MAX_WEBHOOKS_PER_PARTNER: most } = settingsOf(shell, listenEnv);
  return new RedisWebhookStore(stores.redis, stores.registry.of<WebhookCommand>('webhook'), keyring, {
    perPartner: most,
  });
}

async function registerOne(store: RedisWebhookStore, owner: ClientRecord, eventType: EventType, url: string) {
  const draft: WebhookDraft = {
    eventType,
    endPointUrl: url,
    endPointName: 'relay listen',
    endPointDesc: 'a program under development; deleted when `relay listen` ends',
    apiKey: `listen_${randomBytes(16).toString('base64url')}`,
    url,
    origin: new URL(url).origin,
  };
  const result = await store.register(owner.clientId, draft);
  if (result.kind === 'created') return { id: result.id, partnerId: owner.clientId, eventType };
  if (result.kind === 'limit')
    throw new Error(`${owner.name} has as many webhooks as MAX_WEBHOOKS_PER_PARTNER allows: delete some first`);
  throw new Error(`${url} is registered already`);
}
