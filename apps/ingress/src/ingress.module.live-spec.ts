import { startRedisServer, type RedisServer } from '@relay/testing';
import { createIngressApp } from './access/access.module.js';
import { aConfig } from './http/spec-app.js';
import { IngressModule } from './ingress.module.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

it('resolves every dependency and serves every path of the specification', async () => {
  const config = aConfig(redis.url());
  const app = await createIngressApp(IngressModule.register(config), config);
  try {
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const answers = [
      ['POST', '/auth/token', 401],
      ['POST', '/auth/0f0e0d0c-0b0a-4908-8706-050403020100/session', 401],
      ['GET', '/webhooks', 401],
      ['POST', '/webhooks', 401],
      ['PUT', '/webhooks', 401],
      ['DELETE', '/webhooks', 401],
      ['POST', '/deliveries', 401],
      ['POST', '/deliveries/batch', 401],
    ] as const;
    for (const [method, path, status] of answers)
      expect([path, (await fetch(url + path, { method })).status]).toEqual([path, status]);
  } finally {
    await app.close();
  }
});
