import { redisOfSpec } from '@relay/testing';
import { clientNameOf, connectedRoles, connectRedis } from './redis-client.adapter.js';

const { redis, server } = await redisOfSpec();

it('are those with a connection to this database, by name and address', async () => {
  const connect = (url: string, clientName?: string) =>
    connectRedis(
      { REDIS_URL: url, REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '', ...(clientName && { clientName }) },
      'queue',
      () => undefined,
    );
  const worker = connect(server.url(), clientNameOf('worker'));
  const others = [connect(server.url()), connect(server.url(1), clientNameOf('ingress'))];
  for (const each of [worker, ...others]) await each.ping();
  expect(await connectedRoles(redis)).toEqual([expect.stringMatching(/^worker 127\.0\.0\.1:\d+$/)]);
  expect(await connectedRoles(others[1]!)).toEqual([expect.stringMatching(/^ingress 127/)]);
  for (const each of [worker, ...others]) each.disconnect();
});
