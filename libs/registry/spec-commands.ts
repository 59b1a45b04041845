import type { Redis } from 'ioredis';
import { CLAIM } from './registry.script.js';

// For specs only: commands like those of the domains, but without encryption and random values, and the content of Redis.

export const aWebhook = (id: string, path = id, partnerId = 'p'): object => {
  const url = `https://e.example/${path}`;
  const place = { id, partnerId, eventType: 'task.created', endPointUrl: url, url, origin: 'https://e.example' };
  const sealed = { credential: { kind: 'apiKey', apiKey: 's' }, credentialHash: 'h', secrets: ['s'] };
  return {
    kind: 'register',
    limit: 1_000,
    webhook: { ...place, ...sealed, status: 'active', createdAt: 1, updatedAt: 1 },
  };
};

export const aChange = (id: string, at: number, changes: object): object => ({
  kind: 'update',
  partnerId: 'p',
  eventType: 'task.created',
  id,
  only: false,
  at,
  changes,
});

export const anUpdate = (id: string, path: string, at: number): object =>
  aChange(id, at, { url: `https://e.example/${path}`, endPointDesc: null, endPointName: `name ${at}` });

export const aDeletion = (id: string): object => ({ kind: 'delete', partnerId: 'p', eventType: 'task.created', id });

export const aClient = (clientId: string, hash?: string): object => ({
  kind: 'insert',
  clientId,
  record: `{"clientId":"${clientId}"}`,
  hashes: hash === undefined ? [] : [hash],
});

/**
 * Returns the keys of a Redis that come from the log, each with its value. The claim is left out, because it does not come
 * from the log.
 */
export async function snapshot(redis: Redis): Promise<Record<string, unknown>> {
  const names = (await redis.keys('*')).filter((name) => name !== CLAIM).toSorted();
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await valueOf(redis, name)] as const)));
}

async function valueOf(redis: Redis, name: string): Promise<unknown> {
  switch (await redis.type(name)) {
    case 'string':
      return redis.get(name);
    case 'hash':
      return redis.hgetall(name);
    default:
      return redis.zrange(name, '0', '-1', 'WITHSCORES');
  }
}
