import { statSync, truncateSync } from 'node:fs';
import { anEnvelope } from '../support/client.js';
import { partner, relay, servers, source, startRelayWithServers } from '../support/shared-relay.js';
import { until } from '../support/until.js';

startRelayWithServers({ RETRY_SCHEDULE: '1s,1s,1s' });

const register = (path: string): Promise<string> =>
  partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url(path), apiKey: 'k' });
const listed = async (): Promise<string[]> => {
  const answer = await partner.request('GET', '/webhooks');
  return answer.status === 200 ? answer.json.map((webhook) => String(webhook['id'])) : [];
};
const arrives = async (path: string): Promise<void> => {
  const envelope = anEnvelope();
  const answer = await until('it is accepted', async () => {
    const posted = await source.post(envelope);
    return posted.status === 202 && posted;
  });
  expect(answer.status).toBe(202);
  await until('it is delivered', () => relay.receiver.ids(path).includes(envelope.id), {
    seen: () => relay.worker.log.slice(-20),
  });
};

it('a registration answered 201 is shown again and gets deliveries after Redis has lost its latest writes', async () => {
  const first = await register('/first');
  await arrives('/first');
  const file = await servers.appendOnlyFile(relay.stack.redis);
  const written = statSync(file).size;
  const second = await register('/second');
  const late = await relay.partner('late');
  await arrives('/second');
  servers.kill('redis');
  truncateSync(file, written);
  await servers.bringUp();
  expect(await until('both are listed', async () => (await listed()).length === 2 && listed())).toEqual([
    first,
    second,
  ]);
  expect((await late.request('GET', '/webhooks')).status).toBe(200);
  await arrives('/second');
});

it('processes that start on an emptied Redis show the registrations', async () => {
  const before = await listed();
  await Promise.all([relay.ingress.stop(), relay.worker.kill()]);
  await relay.stack.redisLost();
  relay.ingress.start();
  await relay.ingress.ready();
  expect(await listed()).toEqual(before);
});

it('the ingress answers a change 503 within 10 s while Kafka is away, saying what became of it, and takes it when it is back', async () => {
  servers.kill('kafka');
  const askedAt = performance.now();
  const body = { eventType: 'plan.created', endPointUrl: relay.receiver.url('/plan'), apiKey: 'k' };
  const answer = await partner.request('POST', '/webhooks', body);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  // The record of the change for the audit comes first: without it nothing is changed.
  expect(answer.text).toMatch(/nothing was changed|may have been stored/);
  // Its own bound is 9 s (registry-view.adapter.ts); twice the promise here, because this machine may be busy with other suites.
  expect(performance.now() - askedAt).toBeLessThan(20_000);
  expect(await listed()).toHaveLength(2);
  await servers.bringUp();
  await until('it is taken', async () =>
    [201, 409].includes((await partner.request('POST', '/webhooks', body)).status),
  );
});
