import { Keyring } from '@relay/keyring';
import { RegistryView } from '@relay/registry';
import { WebhookStore } from '@relay/webhooks';
import { Registry } from 'prom-client';
import { startSpecWorker } from '../spec-worker.js';

it.each([
  ['unverified', 'unverified'],
  ['gone', 'disabled'],
])('a webhook that is disabled as %s is counted as %s', async (reason, status) => {
  const worker = await startSpecWorker('http://127.0.0.1:1', {});
  try {
    const { app, redis, webhookId } = worker;
    const items = new WebhookStore(redis, app.get(RegistryView).of('webhook'), app.get(Keyring));
    const { version = 0 } = (await items.find('p1', webhookId)) ?? {};
    expect(await items.disable('p1', webhookId, reason, [version])).toMatchObject({ kind: 'updated' });
    const metric = await app.get(Registry).getSingleMetric('relay_webhooks')?.get();
    const counts = metric?.values.map(({ labels, value }) => [labels['status'], value]);
    const none = { active: 0, parked: 0, disabled: 0, unverified: 0 };
    expect(Object.fromEntries(counts ?? [])).toEqual({ ...none, [status]: 1 });
  } finally {
    await worker.close();
  }
});
