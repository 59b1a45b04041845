import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPath } from '../documents/languages.js';
import type { App } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { Document } from '../support/document.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { Terminal } from '../support/terminal.js';
import { until } from '../support/until.js';

const page = new Document('docs/operations/recovery.md');
const CLAIM = '{relay:0}:deployment';
const folder = mkdtempSync(join(tmpdir(), 'relay-registry-'));

let terminal: Terminal;

startRelay({ RETRY_SCHEDULE: '20s,20s,20s' }, () => terminal.close());

afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  terminal = new Terminal({ ...relay.stack.env });
});

/** A block as printed, with this spec's servers, topics and folder. */
const run = (words: string, redisCli = redisClis()[0] ?? ''): Promise<string> => {
  const { env } = relay.stack;
  const ours = [
    ['kafka:9092', env['KAFKA_BROKERS']],
    ['relay.registry ', `${env['KAFKA_TOPIC_PREFIX']}relay.registry `],
    ['registry.jsonl', join(folder, 'registry.jsonl')],
    ['registry.txt', join(folder, 'registry.txt')],
    ['unlinked.txt', join(folder, 'unlinked.txt')],
    ['redis-cli', redisCli],
  ] as const;
  const code = ours.reduce((text, [printed, real]) => text.replaceAll(printed, real ?? ''), page.block('sh', words));
  return terminal.run(code);
};
/** That of the server, or of every node of the cluster. */
const redisClis = (): string[] => {
  const { REDIS_URL, REDIS_CLUSTER_NODES = '', REDIS_PASSWORD } = relay.stack.env;
  if (REDIS_URL !== undefined) return [`redis-cli -u ${REDIS_URL}`];
  const login = `REDISCLI_AUTH=${REDIS_PASSWORD}`;
  return REDIS_CLUSTER_NODES.split(',').map((node) => `${login} redis-cli -c -u redis://${node}`);
};
const roles = () => [relay.ingress, relay.worker];
const register = (path: string): Promise<string> =>
  partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url(path), apiKey: 'k' });
const deliversTo = async (path: string): Promise<string> => {
  const envelope = anEnvelope();
  expect((await source.post(envelope)).status).toBe(202);
  await until('it is delivered', () => relay.receiver.delivered(path).includes(envelope.id), {
    seen: () => relay.worker.log.slice(-20),
  });
  return envelope.id;
};

/** Every topic with what it held, and what the group had committed; then what the page says is to be done before the start. */
async function loseKafka(): Promise<void> {
  await Promise.all(roles().map((role) => role.stop()));
  const { admin, env } = relay.stack;
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(env['KAFKA_TOPIC_PREFIX'] ?? ''));
  await relay.stack.dropTopics(...topics);
  await admin.deleteGroups([env['KAFKA_CONSUMER_GROUP'] ?? '']);
  await relay.stack.relay('topics', 'create');
  // The brokers of the specs stay; those of a lost cluster had another id.
  const claim = await relay.stack.redis.get(CLAIM);
  await relay.stack.redis.set(
    CLAIM,
    JSON.stringify({ ...(JSON.parse(claim ?? '') as object), cluster: 'that-was-lost' }),
  );
  await run('kcat -P');
}
async function start(role: App): Promise<void> {
  role.start();
  await role.ready();
}

if (!['kcat', 'redis-cli'].every(onPath))
  it.todo('the relay goes on after Kafka was lost: kcat or redis-cli is not installed here');
else {
  it('the relay goes on after Kafka was lost: what was queued, new envelopes, those sent again, and registrations newer than the copy', async () => {
    await register('/hook');
    await run('kcat -C');
    await register('/later');
    const again = await deliversTo('/hook');
    await until('it is delivered to both', () => relay.receiver.delivered('/later').includes(again));
    relay.receiver.plan('/hook', { status: 500 }, { status: 204 });
    const queued = anEnvelope();
    await source.post(queued);
    await until('its first attempt has failed', () => relay.receiver.ids('/hook').includes(queued.id));

    await loseKafka();
    for (const redisCli of redisClis()) await run('--scan', redisCli);
    await run('Redis holds more');
    // By the time that a worker reads it the new log is longer than the lost one was.
    await start(relay.ingress);
    const early = Array.from({ length: 20 }, () => anEnvelope());
    for (const envelope of early) expect((await source.post(envelope)).status).toBe(202);
    await start(relay.worker);
    const missing = () => early.filter(({ id }) => !relay.receiver.delivered('/hook').includes(id)).length;
    await until('what was accepted before is delivered', () => missing() === 0, { seen: missing });
    await until('what was queued is delivered', () => relay.receiver.delivered('/hook').includes(queued.id));
    await deliversTo('/later');
    expect((await source.post(anEnvelope({ id: again }))).json).toMatchObject({ status: 'accepted' });
    const isTwice = () => relay.receiver.delivered('/hook').filter((id) => id === again).length === 2;
    await until('what was sent again is delivered', isTwice);
    await register('/new');
    await deliversTo('/new');
  });

  it('the relay has the clients and webhooks of the copy after Redis was lost as well', async () => {
    await run('kcat -C');
    await loseKafka();
    await relay.stack.redisLost();
    await Promise.all(roles().map(start));
    await deliversTo('/hook');
    const listed = await partner.request('GET', '/webhooks');
    const paths = listed.json.map((webhook) => new URL(String(webhook['endPointUrl'])).pathname);
    expect(paths.toSorted()).toEqual(['/hook', '/new']);
    await deliversTo('/hook');
  });
}
