import { AddressedRedis } from '../support/addressed-redis.js';
import { App } from '../support/app.js';
import { anEnvelope, type Client } from '../support/client.js';
import { failoverKinds } from '../support/failover-kinds.js';
import { Relay } from '../support/relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

describe.each(failoverKinds)('Redis with %s that is handed over', (_kind, start) => {
  it('is followed by every connection: what waited and what comes is delivered, and nothing is lost', async () => {
    const redis = await start();
    const relay = await Relay.start({ ...redis.settings, RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s,1s' });
    const operations = await App.start('operations', relay.stack.env);
    try {
      const [source, partner] = [await relay.source(), await relay.partner()];
      for (const [eventType, path] of [
        ['task.created', '/hook'],
        ['plan.created', '/failing'],
      ] as const)
        await partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'k' });
      relay.receiver.plan('/failing', { status: 500 });
      const sent = { '/hook': new Set<string>(), '/failing': new Set<string>() };
      const post = async (): Promise<void> => {
        sent['/hook'].add(await accepted(source, 'task.created'));
        sent['/failing'].add(await accepted(source, 'plan.created'));
      };
      for (let n = 0; n < 3; n += 1) await post();
      await until('some wait in the queue', () => relay.receiver.at('/failing').length >= 3);

      // Where somebody has to move the address, it leads to a replica for a while.
      if (redis instanceof AddressedRedis) {
        await redis.changeRoles();
        for (const app of [relay.worker, relay.ingress, operations])
          await until(`the ${app.role} says what Redis is`, async () =>
            /replica/.test((await app.health())?.faults['redis'] ?? ''),
          );
        redis.moveAddress();
      } else await redis.handOver();

      for (const app of [relay.worker, relay.ingress, operations]) await app.ready(60_000);
      relay.receiver.plan('/failing', { status: 204 });
      for (let n = 0; n < 3; n += 1) await post();
      for (const path of ['/hook', '/failing'] as const) {
        const counts = () => tally(sent[path], relay.receiver.delivered(path));
        await until(`all is delivered to ${path}`, () => counts().lost === 0, { withinMs: 90_000, seen: counts });
      }
    } finally {
      await operations.stop();
      await relay.close();
      await redis.close();
    }
  });
});

async function accepted(source: Client, type: string): Promise<string> {
  const envelope = anEnvelope({ type });
  expect((await source.post(envelope)).status).toBe(202);
  return envelope.id;
}
