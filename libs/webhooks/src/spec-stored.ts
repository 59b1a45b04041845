import type { Redis } from 'ioredis';
import { StoredWebhook } from './stored-webhook.js';
import { StoredWebhooks } from './stored-webhooks.adapter.js';

// For specs only: a webhook as it is stored, with its sealed values; throws when it is not there.

export const storedOf = async (redis: Redis, id: string): Promise<StoredWebhook> =>
  StoredWebhook.parse(await new StoredWebhooks(redis).whole(id));
