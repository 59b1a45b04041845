import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { connectShards } from '@relay/redis';
import { mainOf } from '../support/app.js';
import { anEnvelope, type Client, type Json, type Registration } from '../support/client.js';
import { CommandLine, type Ended } from '../support/command-line.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { postMany } from '../support/post-many.js';
import { Relay } from '../support/relay.js';
import { shardsOf } from '../support/shards-of.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

/** 500 makes 100,000 seen ids and 5,000 waiting jobs, which is measured by hand. */
const SCALE = Number(process.env['RESHARD_SCALE'] ?? 1);
const [WELL, FAILING, PARKED] = [200 * SCALE, 10 * SCALE, 40 * SCALE];
const LONG = { withinMs: 120_000 + 2_000 * SCALE };
const TYPES = {
  well: 'task.created',
  fails: 'plan.updated',
  parked: 'tax_return.filed',
  dead: 'message.created',
} as const;
const SHARD_KEYS = /:(?:seen|deliveries|dead-letters|progress|parking|waiting|history|unsettled|body|dead|failed)/;

let relay: Relay;
let cli: CommandLine;
let [partner, source]: Client[] = [];
beforeAll(async () => {
  relay = await Relay.start({
    REDIS_SHARDS: '1',
    RETRY_SCHEDULE: Array.from({ length: 20 }, () => '10s').join(),
    WEBHOOK_QUEUE_LIMIT: '10000',
  });
  cli = new CommandLine(relay.stack.env);
  [partner, source] = [await relay.partner(), await relay.source()];
});
afterAll(() => relay.close());

const post = async (count: number, type: string): Promise<Set<string>> =>
  new Set((await postMany(source!, count, type)).keys());
const delivered = (path: string): string[] => relay.receiver.delivered(path);
const lost = (sent: ReadonlySet<string>, path: string): number => tally(sent, delivered(path)).lost;
const details = async (id: string): Promise<Json> => (await partner!.request('GET', `/webhooks/${id}`)).json;
/** Everything of a type was read: it is delivered, a job, or waits in the log for its webhook. */
const isRead = async (type: string): Promise<boolean> => (await relay.stack.lag(type)) === 0;
/** Each path has an origin of its own: none shares slots with another. */
const origins = new Map<string, (path: string) => string>();
const registration = async (path: string, eventType: string): Promise<Registration> => {
  const origin = origins.get(path) ?? (await relay.receiver.anotherOrigin());
  origins.set(path, origin);
  return { eventType, endPointUrl: origin(path), apiKey: 'k' };
};
const reshard = (count: number): Promise<Ended> => cli.run(['reshard', '--shards', String(count)]);
/** Ids of dead letters, from a relay of so many shards. */
const letters = async (shards: number): Promise<string[]> => {
  const layout = shardsOf({ ...relay.stack.env, REDIS_SHARDS: String(shards) });
  const found = await deadLettersIn(layout);
  for (const connection of layout.connections) connection.disconnect();
  return found.map(({ id }) => id).toSorted();
};
const told = async (webhookId: string): Promise<string[]> => {
  const answer = await partner!.request('GET', `/webhooks/${webhookId}/deliveries?status=delivered&limit=100`);
  return (answer.json['deliveries'] as unknown as { envelopeId: string }[]).map(({ envelopeId }) => envelopeId);
};
async function startWith(shards: number): Promise<void> {
  for (const app of [relay.ingress, relay.worker]) app.start({ env: { REDIS_SHARDS: String(shards) } });
  await Promise.all([relay.ingress.ready(), relay.worker.ready()]);
}
/** What is left of a layout with so many shards. */
async function leftOf(shards: number): Promise<string[]> {
  const { redis, env } = relay.stack;
  const nodes = env['REDIS_CLUSTER_NODES']?.split(',') ?? [];
  const place = { REDIS_URL: env['REDIS_URL'], REDIS_CLUSTER_NODES: nodes, REDIS_PASSWORD: env['REDIS_PASSWORD'] };
  const settings = { ...place, REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '', REDIS_SHARDS: shards };
  const layout = connectShards(settings, 'queue', () => undefined, redis);
  const keys = await Promise.all(layout.all.map((shard) => shard.redis.keys(`${shard.tag}:*`)));
  for (const connection of layout.connections) if (connection !== redis) connection.disconnect();
  return keys.flat().filter((key) => SHARD_KEYS.test(key));
}

/** Runs the command and kills it a moment after one of its lines. @returns that line */
async function killed(count: number): Promise<string> {
  const child = spawn(process.execPath, [mainOf('cli'), 'reshard', '--shards', String(count)], {
    env: relay.stack.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const gone = once(child, 'exit');
  const lines: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trimEnd().split('\n')));
  const place = 1 + Math.floor(Math.random() * 10);
  await until(`it has said ${place} lines`, () => lines.length >= place || child.exitCode !== null, LONG);
  await delay(Math.random() * 20);
  child.kill('SIGKILL');
  await gone;
  return lines.at(-1) ?? '';
}

it(
  'relay reshard moves a stopped relay from one shard to three, though it is killed twice, and then to sixteen',
  async () => {
    const well = await partner!.register(await registration('/well', TYPES.well));
    await partner!.register(await registration('/fails', TYPES.fails));
    const parked = await partner!.register(await registration('/parked', TYPES.parked));
    for (const n of [0, 1, 2]) {
      await partner!.register(await registration(`/dead/${n}`, TYPES.dead));
      relay.receiver.plan(`/dead/${n}`, { status: 410 });
    }
    relay.receiver.plan('/fails', { status: 500 });
    relay.receiver.plan('/parked', { status: 410 });
    const [seen, failing] = [await post(WELL, TYPES.well), await post(FAILING, TYPES.fails)];
    await Promise.all([post(5, TYPES.dead), post(1, TYPES.parked)]);
    await until('the webhook is disabled', async () => String((await details(parked))['status']) === 'disabled');
    const waits = await post(PARKED, TYPES.parked);
    await until('the well one has all', () => lost(seen, '/well') === 0, LONG);
    await until('the others wait', async () => (await isRead(TYPES.parked)) && (await isRead(TYPES.fails)), LONG);
    await until('there are dead letters', async () => (await letters(1)).length > 3);
    expect((await reshard(3)).err).toContain('These roles are connected to Redis: ingress');
    for (const id of await post(100, TYPES.well)) seen.add(id);
    await relay.worker.stop();
    expect((await reshard(3)).err).toMatch(/connected to Redis: ingress 127\.0\.0\.1:\d+(?:, ingress [\d.:]+)*\. Stop/);
    await relay.ingress.stop();
    await relay.stack.redis.set('{relay:0}:recovery', 'recovery-one');
    expect((await reshard(3)).err).toContain('A recovery of {relay:0} has not ended');
    await relay.stack.redis.del('{relay:0}:recovery');
    const position = `{relay:0}:progress:${relay.stack.env['KAFKA_TOPIC_PREFIX']}${TYPES.well}:0`;
    await relay.stack.redis.rename(position, '{relay:0}:aside');
    // A Redis that remembers what it knew was not lost.
    await relay.stack.redis.del('{relay:0}:known');
    expect((await reshard(3)).err).toContain('Redis was lost: {relay:0} knows nothing of partitions that were read');
    await relay.stack.redis.rename('{relay:0}:aside', position);
    const dead = await letters(1);
    const [places, before] = [[await killed(3), await killed(3)], performance.now()];
    const ended = await reshard(3);
    process.stdout.write(
      `killed after "${places.join('" and "')}"; ${Math.round(performance.now() - before)} ms: ${ended.out}${ended.err}\n`,
    );
    expect(ended).toMatchObject({ code: 0, out: expect.stringMatching(/REDIS_SHARDS=3|nothing to do/) });
    expect([await relay.stack.redis.get('{relay:0}:shards'), await leftOf(1)]).toEqual(['3', []]);
    expect((await reshard(3)).out).toContain('There are 3 shards: nothing to do');

    relay.receiver.plan('/fails', { status: 204 });
    relay.receiver.plan('/parked', { status: 204 });
    await startWith(3);
    expect(await letters(3)).toEqual(dead);
    expect((await told(well)).every((id) => seen.has(id))).toBe(true);
    const [repeated = ''] = seen;
    expect((await source!.post(anEnvelope({ id: repeated, payload: { other: 1 } }))).status).toBe(409);
    await partner!.request('PUT', '/webhooks', { ...(await registration('/parked', TYPES.parked)), apiKey: 'new' });
    await until('the rest is delivered', () => lost(seen, '/well') + lost(waits, '/parked') === 0, {
      ...LONG,
      seen: () => [tally(seen, delivered('/well')), tally(waits, delivered('/parked')), relay.worker.log.slice(-10)],
    });
    await until('the jobs are done', () => lost(failing, '/fails') === 0, {
      ...LONG,
      seen: () => tally(failing, delivered('/fails')),
    });
    expect([
      tally(seen, delivered('/well')),
      tally(waits, delivered('/parked')),
      tally(failing, delivered('/fails')),
    ]).toEqual([seen, waits, failing].map(({ size }) => ({ accepted: size, received: size, lost: 0, duplicates: 0 })));

    await toSixteen(parked, { seen, waits, failing, dead });
  },
  300_000 + 10_000 * SCALE,
);

/** This time the worker is killed under load, with the same kinds of work. */
async function toSixteen(
  parked: string,
  { seen, waits, failing, dead }: { seen: Set<string>; waits: Set<string>; failing: Set<string>; dead: string[] },
): Promise<void> {
  relay.receiver.plan('/fails', { status: 500 });
  relay.receiver.plan('/parked', { status: 410 });
  for (const id of await post(FAILING, TYPES.fails)) failing.add(id);
  const [first = ''] = await post(1, TYPES.parked);
  await until('the webhook is disabled again', async () => String((await details(parked))['status']) === 'disabled');
  for (const id of await post(PARKED, TYPES.parked)) waits.add(id);
  await until('they wait', async () => (await isRead(TYPES.parked)) && (await isRead(TYPES.fails)), LONG);
  for (const id of await post(100, TYPES.well)) seen.add(id);
  await relay.worker.kill();
  await relay.ingress.stop();
  let ended: Ended | undefined;
  await until(
    'the group knows that its worker is gone',
    async () => {
      ended = await reshard(16);
      return ended.code === 0;
    },
    { ...LONG, seen: () => ended },
  );
  process.stdout.write(`to 16: ${ended?.out}\n`);
  expect(await leftOf(3)).toEqual([]);
  relay.receiver.plan('/fails', { status: 204 });
  relay.receiver.plan('/parked', { status: 204 });
  await startWith(16);
  expect((await letters(16)).filter((id) => !id.includes(first))).toEqual(dead);
  await partner!.request('PUT', '/webhooks', { ...(await registration('/parked', TYPES.parked)), apiKey: 'newer' });
  const all = (): unknown[] => [
    tally(seen, delivered('/well')),
    tally(waits, delivered('/parked')),
    tally(failing, delivered('/fails')),
  ];
  await until('all is delivered', () => lost(seen, '/well') + lost(waits, '/parked') + lost(failing, '/fails') === 0, {
    ...LONG,
    seen: all,
  });
  process.stdout.write(`after 16: ${JSON.stringify(all())}\n`);
  // What ran when the worker was killed is delivered again.
  expect(tally(seen, delivered('/well')).duplicates).toBeLessThanOrEqual(128);
  expect([tally(waits, delivered('/parked')).duplicates, tally(failing, delivered('/fails')).duplicates]).toEqual([
    0, 0,
  ]);
}
