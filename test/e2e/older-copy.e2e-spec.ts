import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anEnvelope } from '../support/client.js';
import { partner, relay, servers, source, startRelayWithServers } from '../support/shared-relay.js';
import { until } from '../support/until.js';

const backup = mkdtempSync(join(process.env['RELAY_HOME'] ?? tmpdir(), 'relay-copy-'));

startRelayWithServers();

afterAll(() => rmSync(backup, { recursive: true }));

const relayed = (...words: string[]): Promise<unknown> => relay.stack.relay(...words);
const letters = async (): Promise<string[]> =>
  ((await relayed('dead-letters', 'list')) as { envelopeId: string }[]).map(({ envelopeId }) => envelopeId);
const post = async (type: string): Promise<string> => {
  const envelope = anEnvelope({ type });
  expect((await source.post(envelope)).status).toBe(202);
  return envelope.id;
};
const deliver = async (type: string, path: string): Promise<string> => {
  const id = await post(type);
  await until('it is delivered', () => relay.receiver.delivered(path).includes(id), {
    seen: () => relay.worker.log.slice(-10),
  });
  return id;
};
const committed = (type: string): Promise<true> =>
  until('what was read is committed', async () => (await relay.stack.lag(type)) === 0);

it('recovery reads an event type again that is younger than the copy of Redis, and ends dead letters that were ended since', async () => {
  const at = (path: string) => ({ endPointUrl: relay.receiver.url(path), apiKey: 'k' });
  await partner.register({ eventType: 'plan.created', ...at('/plans') });
  await partner.register({ eventType: 'tax_return.filed', ...at('/returns') });
  const dead = await partner.register({ eventType: 'task.created', ...at('/tasks') });
  relay.receiver.plan('/tasks', { status: 410 });
  const died: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    died.push(await post('task.created'));
    await until('it is a dead letter', async () => (await letters()).length === n + 1);
    const isDisabled = async () => (await partner.request('GET', `/webhooks/${dead}`)).text.includes('"disabled"');
    await until('its webhook is disabled', isDisabled);
    await partner.request('POST', `/webhooks/${dead}/enable`);
  }
  const [replayed = '', purged = '', left] = died;
  await deliver('plan.created', '/plans');
  await Promise.all(['task.created', 'plan.created'].map(committed));
  const [shard] = relay.stack.shards.all;
  await until('Redis remembers what it knows', async () => (await shard?.redis.exists(shard.key('known'))) === 1);

  await servers.appendOnlyFile(relay.stack.redis);
  cpSync(servers.folder('redis'), backup, { recursive: true });
  relay.receiver.plan('/tasks', { status: 204 });
  await relayed('dead-letters', 'replay', replayed);
  await relayed('dead-letters', 'purge', purged, '--yes');
  await until('the replay is delivered', () => relay.receiver.delivered('/tasks').includes(replayed));
  const first = await deliver('tax_return.filed', '/returns');
  await Promise.all(['task.created', 'tax_return.filed'].map(committed));

  await Promise.all([relay.worker.stop(), relay.ingress.stop()]);
  await servers.killed('redis');
  rmSync(servers.folder('redis'), { recursive: true });
  cpSync(backup, servers.folder('redis'), { recursive: true });
  await servers.bringUp();
  relay.worker.start();
  relay.ingress.start();
  await Promise.all([relay.worker.ready(), relay.ingress.ready()]);

  const times = (id: string): number => relay.receiver.delivered('/returns').filter((each) => each === id).length;
  await until('what came after the copy is delivered again', () => times(first) === 2);
  await deliver('tax_return.filed', '/returns');
  expect(relay.worker.log.filter((line) => line.includes('log.begun_again'))).not.toEqual([]);
  expect(await letters()).toEqual(expect.arrayContaining(died));

  expect(await relayed('recover')).toMatchObject({ endedLetters: 2, deadLetters: 0, deliveries: 0 });
  expect(await letters()).toEqual([left]);
  await deliver('task.created', '/tasks');
  expect(relay.receiver.delivered('/tasks').filter((id) => id === replayed)).toHaveLength(1);
  await expect(relayed('recover')).rejects.toThrow('nothing was lost');
});
