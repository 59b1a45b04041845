import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope } from '../support/client.js';
import { partner, relay, servers, source, startRelayWithServers } from '../support/shared-relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

const [type, other, third] = ['plan.updated', 'task.created', 'task.updated'];
const [parked, read] = ['message.created', 'plan.created'];
/** Longer than a fetch of the worker waits for a record. */
const FETCH_ENDS_MS = 1_000;

startRelayWithServers({ KAFKA_TOPIC_PARTITIONS: '1' });

beforeAll(async () => {
  for (const eventType of [type, other, third])
    await partner.register({ eventType, endPointUrl: relay.receiver.url(`/${eventType}`), apiKey: 'k' });
});

async function post(count: number, of = type): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const envelope = anEnvelope({ type: of });
    const { status } = await source.post(envelope);
    if (status === 202) ids.push(envelope.id);
  }
  return ids;
}
async function deliver(ids: readonly string[], path: string): Promise<void> {
  const counts = () => tally(new Set(ids), relay.receiver.delivered(path));
  await until('all of it is delivered', () => counts().lost === 0, {
    seen: () => [counts(), relay.worker.log.slice(-10)],
  });
}
/** The lines that tell what became of a topic's log. Each shard has a place of its own in it, and tells its own. */
const told = (topic: string, event = 'log.shortened'): Record<string, unknown>[] =>
  relay.worker.log
    .filter((line) => line.includes(`"${event}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => String(line['topic']).endsWith(topic));
const ofEachShard = <T>(line: T): T[] => relay.stack.shards.all.map(() => line);

async function members(): Promise<number> {
  const { admin, env } = relay.stack;
  const { groups } = await admin.describeGroups([env['KAFKA_CONSUMER_GROUP'] ?? '']);
  return groups.flatMap((group) => group.members).length;
}

/** Takes the record batches from an offset on off the only partition of a topic, as a crash of the machines does. */
function cut(topic: string, offset: number): void {
  const name = `${relay.stack.env['KAFKA_TOPIC_PREFIX'] ?? ''}${topic}-0`;
  const root = servers.folder('kafka');
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith(`/${name}`));
  const folder = join(root, found ?? name);
  const segment = join(folder, `${'0'.padStart(20, '0')}.log`);
  const bytes = readFileSync(segment);
  let at = 0;
  while (at + 12 <= bytes.length && Number(bytes.readBigInt64BE(at)) < offset) {
    const length = bytes.readInt32BE(at + 8);
    if (length <= 0) break;
    at += 12 + length;
  }
  truncateSync(segment, at);
  for (const file of readdirSync(folder)) if (/index$|snapshot$/.test(file)) rmSync(join(folder, file));
}

it.each([
  ['shorter', 'lost its session', 1],
  ['longer than it was', 'lost its session', 12],
  // As a rule it keeps its session, so that no join makes it look.
  ['longer than it was', 'goes on at once', 13],
])(
  'the relay delivers what comes after Kafka has lost the end of its log, which is %s when a worker that %s reads it, and what is parked',
  async (_, worker, more) => {
    const path = `/parked-${more}`;
    relay.receiver.plan(path, { status: 410 });
    const webhook = await partner.register({ eventType: type, endPointUrl: relay.receiver.url(path), apiKey: 'k' });
    await post(1);
    const status = async () => (await partner.request('GET', `/webhooks/${webhook}`)).json['status'];
    await until('it is disabled', async () => String(await status()) === 'disabled');
    const before = await post(10);
    await deliver(before, `/${type}`);
    await until('nothing is unread', async () => (await relay.stack.lag(type)) === 0);
    const end = await relay.stack.topic(type).count();
    const lines = told(type).length;

    process.kill(relay.worker.pid, 'SIGSTOP');
    await servers.killed('kafka');
    cut(type, end - 5);
    await servers.bringUp();
    const after = await post(more);
    if (worker === 'lost its session') await until('the group has no member', async () => (await members()) === 0);
    process.kill(relay.worker.pid, 'SIGCONT');
    await deliver(after, `/${type}`);
    expect(told(type).slice(lines)).toMatchObject(ofEachShard({ level: 50, from: end - 5, to: end }));
    expect(tally(new Set(before), relay.receiver.delivered(`/${type}`)).duplicates).toBe(0);

    relay.receiver.plan(path, { status: 204 });
    expect((await partner.request('POST', `/webhooks/${webhook}/enable`)).status).toBe(200);
    await deliver([...before.slice(0, 5), ...after], path);
  },
);

async function createAnew(topic: string): Promise<void> {
  await relay.stack.dropTopics(relay.stack.topic(topic).name);
  await relay.stack.relay('topics', 'create');
}

it('the relay delivers what comes after its topic was created anew under a worker that runs', async () => {
  await deliver(await post(20, other), `/${other}`);
  await createAnew(other);
  await deliver(await post(5, other), `/${other}`);
  expect(told(other, 'log.recreated')).toMatchObject(ofEachShard({ level: 50, read: 20 }));
  await deliver(await post(20, other), `/${other}`);
  expect(told(other, 'log.recreated')).toHaveLength(relay.stack.shards.all.length);
});

// Its next fetch, at the offset where it was, meets the records of another log.
it('the relay delivers what comes after its topic was created anew, and is longer, under a worker that notices nothing', async () => {
  const path = '/parked-anew';
  relay.receiver.plan(path, { status: 410 });
  const webhook = await partner.register({ eventType: third, endPointUrl: relay.receiver.url(path), apiKey: 'k' });
  await post(1, third);
  const status = async () => (await partner.request('GET', `/webhooks/${webhook}`)).json['status'];
  await until('it is disabled', async () => String(await status()) === 'disabled');
  await deliver(await post(4, third), `/${third}`);
  await until('nothing is unread', async () => (await relay.stack.lag(third)) === 0);

  process.kill(relay.worker.pid, 'SIGSTOP');
  await delay(FETCH_ENDS_MS);
  await createAnew(third);
  const after = await post(8, third);
  process.kill(relay.worker.pid, 'SIGCONT');
  await deliver(after, `/${third}`);
  expect(told(third, 'log.recreated')).toMatchObject(ofEachShard({ level: 50, topic: relay.stack.topic(third).name }));

  relay.receiver.plan(path, { status: 204 });
  expect((await partner.request('POST', `/webhooks/${webhook}/enable`)).status).toBe(200);
  await deliver(after, path);
  await until('what waited is told to be gone', () => told(third, 'webhook.expired').length > 0);
  expect(told(third, 'webhook.expired')).toMatchObject([{ webhookId: webhook }]);
});

/** The brokers at this address are those of another cluster while `work` runs. */
async function withOtherBrokers(work: () => Promise<void>): Promise<void> {
  const folder = servers.folder('kafka');
  const change = async (from: string, to: string): Promise<void> => {
    await servers.killed('kafka');
    renameSync(folder, to);
    if (from === '') mkdirSync(folder);
    else renameSync(from, folder);
    await servers.bringUp();
  };
  await change('', `${folder}-own`);
  try {
    await work();
  } finally {
    await change(`${folder}-own`, `${folder}-other`);
  }
}

it('a worker takes nothing from brokers of another cluster at the address of its own, and goes on when those are back', async () => {
  const path = '/kept';
  relay.receiver.plan(path, { status: 410 });
  const webhook = await partner.register({ eventType: parked, endPointUrl: relay.receiver.url(path), apiKey: 'k' });
  await partner.register({ eventType: read, endPointUrl: relay.receiver.url(`/${read}`), apiKey: 'k' });
  await post(1, parked);
  const status = async () => (await partner.request('GET', `/webhooks/${webhook}`)).json['status'];
  await until('it is disabled', async () => String(await status()) === 'disabled');
  const kept = await post(20, parked);
  await deliver(await post(5, read), `/${read}`);
  for (const each of [parked, read]) await until('nothing is unread', async () => (await relay.stack.lag(each)) === 0);

  await withOtherBrokers(async () => {
    await relay.stack.relay('topics', 'create');
    await until('the worker ends', () => relay.worker.hasEndedByItself, { seen: () => relay.worker.log.slice(-10) });
    expect(relay.worker.log.join('\n')).toMatch(/worker\.dead.*the brokers belong to Kafka cluster/);
    relay.worker.start();
    await until('it waits for its own', async () =>
      (await relay.worker.health())?.faults['registry']?.includes('another deployment'),
    );
    // An ingress that sends nothing looks every 8 s.
    await until('the ingress refuses', async () => (await source.post(anEnvelope({ type: read }))).status === 503);
  });
  expect(told(parked, 'log.recreated')).toEqual([]);
  await relay.worker.ready();
  await deliver(await post(20, read), `/${read}`);
  relay.receiver.plan(path, { status: 204 });
  await until(
    'it is enabled',
    async () => (await partner.request('POST', `/webhooks/${webhook}/enable`)).status === 200,
  );
  await deliver(kept, path);
});
