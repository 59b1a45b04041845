import { connectKafka } from '@relay/kafka';
import { App, type Role } from '../support/app.js';
import type { Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { readTopic } from '../support/kafka-log.js';
import { postMany } from '../support/post-many.js';
import { Relay } from '../support/relay.js';
import { Servers } from '../support/servers.js';
import type { Settings } from '../support/stack.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

/** Attempts fail until the second deployment is gone; most deliveries wait in the log. */
const SETTINGS = { RETRY_SCHEDULE: Array.from({ length: 60 }, () => '2s').join(), WEBHOOK_QUEUE_LIMIT: '10' };
const [OWED, OF_OTHER, TYPE] = [300, 400, 'task.created'];

let [here, there]: Servers[] = [];
let first: Relay;
let [partner, source]: Client[] = [];
let webhook: string;
beforeAll(async () => {
  [here, there] = [await Servers.start(), await Servers.start()];
  first = await Relay.start(SETTINGS, here.envFile);
  [partner, source] = [await first.partner(), await first.source()];
  const endPointUrl = first.receiver.url('/hook');
  webhook = await partner.register({ eventType: TYPE, endPointUrl, apiKey: 'k' });
});
afterAll(async () => {
  await first.close();
  await Promise.all([here?.end(), there?.end()]);
});

const cluster = async (): Promise<string> => (await first.stack.admin.describeCluster()).clusterId;
/** Of all partitions, always in the same order. */
async function owners(): Promise<(string | null)[]> {
  const keys = (await first.stack.redis.keys('*:progress:*')).toSorted();
  return Promise.all(keys.map((key) => first.stack.redis.hget(key, 'owner')));
}
const delivered = (): string[] => first.receiver.delivered('/hook');

/** Starts a role that must not become ready, until it says why. */
async function refused(role: Role, env: Settings, why: readonly string[]): Promise<void> {
  const app = await App.launch(role, env);
  try {
    const texts = async (): Promise<string[]> => [...app.log, JSON.stringify((await app.health()) ?? {})];
    const isReady = async (): Promise<boolean> => (await app.health())?.status === 'ok';
    const says = async (): Promise<boolean> => (await texts()).some((text) => why.every((part) => text.includes(part)));
    await until(
      `the ${role} says why`,
      async () => {
        if (role !== 'operations' && (await isReady())) throw new Error(`the ${role} is ready`);
        return says();
      },
      { seen: texts },
    );
    await until(`the ${role} is not ready`, async () => (await app.health())?.status !== 'ok');
    expect((await app.health())?.faults['registry']).toContain('another deployment');
  } finally {
    await app.kill();
  }
}

/** Everything of the second deployment is refused while the first one goes on, with what it owes. */
async function standsBeside(other: Settings, why: readonly string[]): Promise<void> {
  first.receiver.plan('/hook', { status: 503 });
  const before = delivered().length;
  const owed = new Set((await postMany(source!, OWED, TYPE)).keys());
  await until('all are read', async () => (await first.stack.lag(TYPE)) === 0, {
    withinMs: 180_000,
    seen: () => first.worker.log.slice(-5),
  });
  const held = await first.stack.redis.get('{relay:0}:deployment');
  for (const role of ['worker', 'ingress', 'operations'] as const) await refused(role, other, why);
  const cli = new CommandLine(other);
  for (const args of [
    ['recover'],
    ['registry', 'compact'],
    ['admin', 'clients', 'create', 'partner', 'x'],
    ['reshard', '--shards', '3'],
  ]) {
    const { code, err } = await cli.run(args);
    expect([args[0], code, why.every((part) => err.includes(part)) || err]).toEqual([args[0], 1, true]);
  }
  expect(await first.stack.redis.get('{relay:0}:deployment')).toBe(held);
  expect(await Promise.all([first.worker.health(), first.ingress.health()])).toMatchObject([
    { status: 'ok' },
    { status: 'ok' },
  ]);
  const endPointUrl = first.receiver.url(`/other/${before}`);
  await partner!.register({ eventType: 'plan.updated', endPointUrl, apiKey: 'k' });
  first.receiver.plan('/hook', { status: 200 });
  await until('everything that was owed is delivered', () => tally(owed, delivered()).lost === 0, {
    withinMs: 120_000,
    seen: () => [tally(owed, delivered()), first.worker.log.slice(-10)],
  });
}

it('a deployment keeps what it owes while another of the same names has other brokers and this Redis', async () => {
  const { KAFKA_TOPIC_PREFIX = '', KAFKA_CONSUMER_GROUP = '', ENCRYPTION_KEYS = '', REDIS_URL = '' } = first.stack.env;
  const names = { KAFKA_TOPIC_PREFIX, KAFKA_CONSUMER_GROUP, ENCRYPTION_KEYS };
  // It has lived before, with a Redis of its own: its registry and its topics have more than the first one's.
  const second = await Relay.start({ ...SETTINGS, ...names }, there?.envFile);
  const [its, sender] = [await second.partner('other'), await second.source('other')];
  for (let n = 0; n < 10; n += 1)
    await its.register({ eventType: TYPE, endPointUrl: second.receiver.url(`/its/${n}`), apiKey: 'k' });
  const sent = await postMany(sender, OF_OTHER, TYPE);
  await until('they are delivered', () => second.receiver.delivered('/its/9').length >= sent.size, {
    withinMs: 180_000,
  });
  await Promise.all([second.worker.stop(), second.ingress.stop()]);
  try {
    await standsBeside({ ...second.stack.env, REDIS_URL }, [
      `Kafka cluster ${await cluster()}`,
      `Kafka cluster ${(await second.stack.admin.describeCluster()).clusterId}`,
      `relay registry move --from-cluster ${await cluster()}`,
    ]);
  } finally {
    await second.close();
  }
});

it('a deployment keeps what it owes while another of the same brokers and topics has another consumer group', async () => {
  const group = `${first.stack.env['KAFKA_CONSUMER_GROUP']}-other`;
  await standsBeside({ ...first.stack.env, KAFKA_CONSUMER_GROUP: group }, ['another deployment', `group ${group}`]);
});

it('a deployment moves to new brokers by one command, with its registrations and jobs', async () => {
  await until('nothing waits in the log', async () => !(await first.stack.isParked(webhook)));
  const from = await cluster();
  const env = { ...first.stack.env, KAFKA_TOPIC_PREFIX: 'moved.', KAFKA_BROKERS: `127.0.0.1:${there?.port('kafka')}` };
  const cli = new CommandLine(env);
  const move = (...args: string[]) => cli.run(['registry', 'move', '--from-cluster', ...args]);
  expect((await cli.run(['topics', 'create'])).code).toBe(0);
  expect((await move(from)).err).toContain('Stop all');
  first.receiver.plan('/hook', { status: 503 });
  const owed = new Set((await postMany(source!, 5, TYPE)).keys());
  await until('they are jobs', async () => (await first.stack.lag(TYPE)) === 0);
  first.receiver.plan('/hook', 'hang');
  owed.add([...(await postMany(source!, 1, TYPE)).keys()][0]!);
  await until('an attempt runs', () => first.receiver.at('/hook').at(-1)?.status === 0);
  await Promise.all([first.worker.kill(), first.ingress.stop()]);
  await until('its session is over', async () => !(await move(from)).err.includes('members'));
  expect((await move(from)).err).toContain('wait in the log');
  first.receiver.plan('/hook', { status: 503 });
  const dead = await owners();
  first.worker.start();
  await until('all partitions have another owner', async () =>
    (await owners()).every((owner, index) => owner !== dead[index]),
  );
  await until('it is a job', async () => (await first.stack.lag(TYPE)) === 0);
  await first.worker.stop();
  // A worker that ends while it takes its partitions leaves none of them owned.
  first.worker.start();
  await first.worker.ready();
  await first.worker.stop();
  expect((await owners()).filter(Boolean)).toEqual([]);
  expect((await move('another')).err).toContain(`Redis is claimed by Kafka cluster ${from}`);
  const moved = await cli.json<{ leftBehind: number; records: number }>(['registry', 'move', '--from-cluster', from]);
  expect(moved).toMatchObject({ leftBehind: 0, from: { cluster: from }, to: { topic: 'moved.relay.registry' } });
  const kafka = connectKafka({ KAFKA_BROKERS: [env.KAFKA_BROKERS], KAFKA_CLIENT_ID: 'spec' }, () => undefined);
  const audit = (await readTopic(kafka, 'moved.relay.operations')).map(
    ({ value }) => JSON.parse(value.toString()) as object,
  );
  expect(audit).toMatchObject([
    { event: 'deployment.moved', operator: 'relay registry move', from: { cluster: from }, leftBehind: 0 },
  ]);
  expect((await move(from)).out).toContain('nothing to do');
  await refused('worker', first.stack.env, ['another deployment']);
  for (const app of [first.ingress, first.worker]) app.start({ env });
  await Promise.all([first.ingress.ready(), first.worker.ready()]);
  first.receiver.plan('/hook', { status: 200 });
  for (const id of (await postMany(source!, 20, TYPE)).keys()) owed.add(id);
  await until('old and new ones are delivered', () => tally(owed, delivered()).lost === 0);
  expect((await partner!.request('GET', `/webhooks/${webhook}`)).status).toBe(200);
});

it('relay registry move moves a Redis of a version before the claim, as the role that refuses it says', async () => {
  const [before = ''] = (await postMany(source!, 1, TYPE)).values();
  expect((await source!.post(before)).json).toMatchObject({ status: 'duplicate' });
  await Promise.all([first.worker.stop(), first.ingress.stop()]);
  const { redis } = first.stack;
  await redis.del('{relay:0}:deployment');
  await redis.set('{relay:0}:registry:log', 'moved.relay.registry');
  const env = { ...first.stack.env, KAFKA_TOPIC_PREFIX: 'again.', KAFKA_BROKERS: `127.0.0.1:${there?.port('kafka')}` };
  const cli = new CommandLine(env);
  expect((await cli.run(['topics', 'create'])).code).toBe(0);
  await refused('worker', env, ['relay registry move --from-cluster none']);
  const moved = await cli.json<object>(['registry', 'move', '--from-cluster', 'none', '--leave-behind']);
  expect(moved).toMatchObject({ from: { cluster: null }, to: { topic: 'again.relay.registry' } });
  for (const app of [first.ingress, first.worker]) app.start({ env });
  await Promise.all([first.ingress.ready(), first.worker.ready()]);
  expect((await source!.post(before)).json).toMatchObject({ status: 'accepted' });
  const owed = new Set((await postMany(source!, 5, TYPE)).keys());
  await until('they are delivered', () => tally(owed, delivered()).lost === 0);
});
