import type { Redis } from 'ioredis';
import { StoredWebhook, StoredWebhooks } from './stored-webhooks.adapter.js';
import type { WebhookDraft } from './webhook-changes.js';

// For specs only: a webhook as it is stored, with its sealed values. Throws if the webhook does not exist.

export const storedOf = async (redis: Redis, id: string): Promise<StoredWebhook> =>
  StoredWebhook.parse(await new StoredWebhooks(redis).whole(id));

export const aDraft = (changes: Partial<WebhookDraft> = {}): WebhookDraft => {
  const url = changes.endPointUrl ?? 'https://hooks.example.com/a';
  return {
    eventType: 'task.created',
    endPointUrl: url,
    url: new URL(url).href,
    origin: new URL(url).origin,
    ...((changes.apiKey ?? changes.jwt ?? changes.userName) ? {} : { apiKey: 'key-1' }),
    ...changes,
  };
};
