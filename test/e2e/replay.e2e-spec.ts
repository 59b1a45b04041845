import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Client, Json } from '../support/client.js';
import { mainOf } from '../support/app.js';
import { CommandLine } from '../support/command-line.js';
import { postMany } from '../support/post-many.js';
import { Receiver } from '../support/receiver.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import type { Settings } from '../support/stack.js';
import { tally } from '../support/tally.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

let stranger: Client;

startRelay({ RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s,1s' });

beforeAll(async () => {
  stranger = await relay.partner('stranger');
});

const post = (count: number, type: string): Promise<Map<string, string>> => postMany(source, count, type);
const idsOf = (bodies: ReadonlyMap<string, string>): Set<string> => new Set(bodies.keys());
const replay = (webhookId: string, body: object = {}, client = partner): Promise<Answer> =>
  client.request('POST', `/webhooks/${webhookId}/replay`, body);
const read = async (id: string): Promise<Json> => (await partner.request('GET', `/replays/${id}`)).json;
async function ended(id: string): Promise<Json> {
  await until('the replay has ended', async () => String((await read(id))['state']) === 'done', {
    seen: () => read(id),
  });
  return read(id);
}
/** Deliveries of replays that have ended, as the metrics have them. */
async function told(): Promise<number> {
  const lines = (await relay.worker.metrics()).matchAll(
    /^relay_replay_deliveries\{result="(?:done|failed)"\} (\d+)$/gm,
  );
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}
/** How much has come once nothing more does: what was handed over before a replay was held up or ended still comes. */
async function settled(count: () => number): Promise<number> {
  for (let before = -1, now = count(); ; now = count()) {
    if (now === before) return now;
    before = now;
    await delay(3_000);
  }
}
/** What a path received beyond its first `from` requests. */
const since = (endpoint: Receiver, path: string, from: number) => endpoint.at(path).slice(from);

describe('a replay', () => {
  const type = 'plan.updated';
  let endpoint: Receiver;
  let id: string;
  let other: string;
  let [before, within, after] = [new Map<string, string>(), new Map<string, string>(), new Map<string, string>()];
  let window: { since: string; until: string };
  beforeAll(async () => {
    endpoint = await Receiver.open();
    id = await partner.register({ eventType: type, endPointUrl: endpoint.url('/mine'), apiKey: 'key' });
    other = await stranger.register({ eventType: type, endPointUrl: endpoint.url('/other'), apiKey: 'key' });
    const pause = async (): Promise<string> => {
      await delay(30);
      const time = new Date().toISOString();
      await delay(30);
      return time;
    };
    before = await post(100, type);
    const begin = await pause();
    within = await post(300, type);
    window = { since: begin, until: await pause() };
    after = await post(100, type);
    const received = (): number => endpoint.at('/mine').length + endpoint.at('/other').length;
    await until('all of it is delivered', () => received() === 1_000, { seen: received });
  });
  afterAll(() => endpoint.close());

  it('delivers the envelopes of its time once more, as they were, to its webhook alone', async () => {
    const answer = await replay(id, window);
    expect(answer.status).toBe(202);
    expect(answer.headers.get('location')).toBe(`/replays/${String(answer.json['id'])}`);
    const status = await ended(String(answer.json['id']));
    expect(status).toMatchObject({ matched: 300, secondsLeft: 0, webhookId: id });
    // On a busy machine some wait too long for their turn: they count as failed, and arrive as queued deliveries.
    expect(Number(status['done']) + Number(status['failed'])).toBe(300);
    await until('all have arrived', () => new Set(endpoint.ids('/mine').slice(500)).size === 300);
    await settled(() => endpoint.at('/mine').length);
    const again = since(endpoint, '/mine', 500);
    const ids = again.map(({ headers }) => String(headers['webhook-id']));
    expect(tally(idsOf(within), ids)).toMatchObject({ lost: 0, duplicates: 0 });
    for (const { body, headers } of again) {
      expect(body.toString()).toBe(within.get(String(headers['webhook-id'])));
      expect(headers).toMatchObject({ 'x-api-key': 'key' });
    }
    expect(endpoint.at('/other').length).toBe(500);
  });

  it('counts only, on a dry run', async () => {
    const received = endpoint.at('/mine').length;
    const { status, json } = await replay(id, { ...window, dryRun: true });
    expect([status, json['id'], json['state'], json['matched']]).toEqual([202, null, 'dry-run', 300]);
    expect((await replay(id, { until: window.since, dryRun: true })).json['matched']).toBe(before.size);
    expect((await replay(id, { since: window.until, dryRun: true })).json['matched']).toBe(after.size);
    expect((await replay(id, { since: '1969-12-31T23:59:59.999Z', dryRun: true })).json['matched']).toBe(500);
    await delay(1_500);
    expect(endpoint.at('/mine').length).toBe(received);
  });

  it('is the partner’s own', async () => {
    const answer = await replay(other, window, stranger);
    expect(answer.status).toBe(202);
    const path = `/replays/${String(answer.json['id'])}`;
    for (const [method, target] of [
      ['GET', path],
      ['DELETE', path],
      ['POST', `/webhooks/${other}/replay`],
    ] as const)
      expect((await partner.request(method, target, method === 'POST' ? {} : undefined)).status).toBe(404);
    await until('it has ended all the same', async () => {
      const { json } = await stranger.request('GET', path);
      return String(json['state']) === 'done' && Number(json['done']) === 300;
    });
  });

  it.each([
    [{ since: 'yesterday' }, '/since'],
    [{ since: '2030-01-02T00:00:00Z', until: '2030-01-01T00:00:00Z' }, '/until'],
    [{ status: 'some' }, '/status'],
    [{ dryRun: 'yes' }, '/dryRun'],
  ])('is refused with %j, naming %s', async (body, pointer) => {
    const { status, json } = await replay(id, body);
    expect([status, (json['errors'] as unknown as Json[]).map((error) => error['pointer'])]).toEqual([400, [pointer]]);
  });
});

it('a replay goes on from its place when the worker is killed at it, and counts each delivery once', async () => {
  const type = 'task.updated';
  const endpoint = await Receiver.open();
  const id = await partner.register({ eventType: type, endPointUrl: endpoint.url('/killed'), apiKey: 'key' });
  const sent = await post(1_500, type);
  await until('all of it is delivered', () => endpoint.at('/killed').length === 1_500);
  endpoint.plan('/killed', { status: 204, delayMs: 150 });
  const toldBefore = await told();
  const { json } = await replay(id);
  await until('some of it is delivered', () => endpoint.at('/killed').length > 1_650);
  expect((await replay(id)).json).toMatchObject({ status: 409, id: json['id'] });
  expect(await read(String(json['id']))).toMatchObject({ state: 'running' });

  await relay.worker.kill();
  relay.worker.start();
  const live = await post(200, type); // comes beside it
  const status = await ended(String(json['id']));
  // What waited too long for its endpoint is left to the queue, and counts as failed.
  expect([Number(status['matched']), Number(status['done']) + Number(status['failed'])]).toEqual([1_500, 1_500]);
  await until('the metrics say the same', async () => (await told()) === toldBefore + 1_500, { seen: told });
  await until('what came is delivered', () => tally(idsOf(live), endpoint.delivered('/killed')).lost === 0);
  const again = () => since(endpoint, '/killed', 1_500).map(({ headers }) => String(headers['webhook-id']));
  const counts = () =>
    tally(
      idsOf(sent),
      again().filter((each) => sent.has(each)),
    );
  await until('all of it was delivered again', () => counts().lost === 0, { seen: counts });
  // What ran, and what was answered beyond the cursor of the last flush.
  expect(counts().duplicates).toBeLessThanOrEqual(128);
  await endpoint.close();
});

it('a replay ends when it is cancelled, and leaves to the retries what the endpoint refuses', async () => {
  const type = 'message.created';
  const endpoint = await Receiver.open();
  const id = await partner.register({ eventType: type, endPointUrl: endpoint.url('/slow'), apiKey: 'key' });
  const sent = await post(1_000, type);
  await until('all of it is delivered', () => endpoint.at('/slow').length === 1_000);
  endpoint.plan('/slow', { status: 204, delayMs: 300 });
  const first = String((await replay(id)).json['id']);
  await until('some of it is delivered', () => endpoint.at('/slow').length > 1_050);
  expect((await partner.request('DELETE', `/replays/${first}`)).status).toBe(204);
  expect(await read(first)).toMatchObject({ state: 'cancelled' });
  const received = await settled(() => endpoint.at('/slow').length);
  expect(received).toBeLessThan(2_000);
  expect((await partner.request('DELETE', `/replays/${first}`)).status).toBe(204);

  const failed = new Set<string>();
  endpoint.decide('/slow', ({ 'webhook-id': envelopeId, 'relay-attempt': attempt }) => {
    if (attempt !== '1' || failed.size >= 5) return { status: 204 };
    failed.add(String(envelopeId));
    return { status: 500 };
  });
  const second = String((await replay(id)).json['id']);
  expect(await ended(second)).toMatchObject({ matched: 1_000 });
  const { done, failed: counted } = await read(second);
  expect([Number(done) + Number(counted), Number(counted) >= 5]).toEqual([1_000, true]);
  const counts = () =>
    tally(
      idsOf(sent),
      since(endpoint, '/slow', received).flatMap(({ status, headers }) =>
        status === 204 ? [String(headers['webhook-id'])] : [],
      ),
    );
  await until('what was refused is delivered by its retries', () => counts().lost === 0, {
    seen: counts,
  });
  await endpoint.close();
});

describe('relay replay', () => {
  const type = 'plan.created';
  const args = ['replay', '--type', type];
  let endpoint: Receiver;
  let env: Settings;
  let cli: CommandLine;
  /** The one at `/two`. */
  let webhookId: string;
  beforeAll(async () => {
    [endpoint, env] = [await Receiver.open(), await relay.stack.commandEnv()];
    cli = new CommandLine(env);
  });
  afterAll(() => endpoint.close());

  it('says when there is no webhook to deliver to', async () => {
    expect(await cli.run(args)).toMatchObject({
      code: 1,
      out: '',
      err: `error: No webhook is registered for ${type}.\n`,
    });
  });

  it('delivers to every webhook of the type, shows how far it is, is held up by Ctrl-C, and goes on with the next call', async () => {
    const paths = ['/one', '/two'] as const;
    for (const path of paths)
      webhookId = await partner.register({ eventType: type, endPointUrl: endpoint.url(path), apiKey: 'key' });
    const sent = await post(1_000, type);
    await until('all of it is delivered', () => paths.every((path) => endpoint.at(path).length === 1_000));
    const open = { since: null, until: null };
    expect(await cli.json<Json>([...args, '--dry-run'])).toEqual({ ...open, webhooks: 2, matched: 2_000, leftOut: [] });
    const none = await cli.run([...args, '--since', '2099-01-01', '--dry-run']);
    expect(none.out).toMatch(/^2 webhooks: at most 0 deliveries .* from 2099-01-01T00:00:00\.000Z until now$/m);

    for (const path of paths) endpoint.plan(path, { status: 204, delayMs: 300 });
    const first = new Program(process.execPath, [mainOf('cli'), ...args], env);
    await first.prints(/delivering again: (?:\d+ of )?2000 records/);
    // Whichever comes first: a worker that sees the one order before the other begins with it alone, and soon ends it.
    await until('some of it is delivered', () => paths.some((path) => endpoint.at(path).length > 1_050));
    expect(await first.end('SIGINT')).toBe(1);
    expect(first.output).toMatch(/^envelopes accepted until now go to 2 webhooks once more$/m);
    expect(first.output).toMatch(
      /2 replays: \d+ of (?:1\d{3}|2000) deliveries delivered, \d+ left to the retries, in .* s\n2 replays paused/,
    );
    await settled(() => endpoint.at('/one').length + endpoint.at('/two').length);
    expect(Math.max(...paths.map((path) => endpoint.at(path).length))).toBeLessThan(2_000);

    for (const path of paths) endpoint.plan(path, { status: 204 });
    const again = await cli.run([...args, '--json']);
    expect([again.code, again.err.match(/continuing /g)?.length]).toEqual([0, 2]);
    const report = JSON.parse(again.out) as Json;
    expect(report).toMatchObject({ ...open, lost: [] });
    expect([Number(report['matched']), Number(report['done']) + Number(report['failed'])]).toEqual([2_000, 2_000]);
    const counts = () =>
      paths.map((path) =>
        tally(
          idsOf(sent),
          since(endpoint, path, 1_000).map(({ headers }) => String(headers['webhook-id'])),
        ),
      );
    await until('all of it was delivered again', () => counts().every(({ lost }) => lost === 0), {
      seen: counts,
    });
    expect(counts().map(({ duplicates }) => duplicates)).toEqual([0, 0]);
  });

  it('leaves a replay alone that a partner ordered, and says whose it is', async () => {
    endpoint.plan('/two', { status: 204, delayMs: 4_000 }); // three commands take their time on a busy machine
    const own = String((await replay(webhookId)).json['id']);
    const none = await cli.json<Json>([...args, '--webhook', webhookId, '--dry-run']);
    const why = expect.stringContaining('ordered by its partner');
    expect(none).toMatchObject({ webhooks: 0, matched: 0, leftOut: [{ webhookId, why }] });
    const refused = await cli.run([...args, '--webhook', webhookId]);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('0 replays') });
    expect(refused.err).toContain(`another replay under way, ${own}, ordered by its partner; wait for it`);
    expect(await read(own)).toMatchObject({ state: 'running' });
    const cancelled = await cli.run([...args, '--cancel', '--webhook', webhookId]);
    expect(cancelled.err).toContain(`ended ${own}, ordered by its partner, to webhook ${webhookId}`);
  });

  it('ends with --cancel', async () => {
    // Slower than half of what may wait in the queue for it, so that it cannot end before it is cancelled.
    for (const path of ['/one', '/two']) endpoint.plan(path, { status: 204, delayMs: 1_000 });
    const running = new Program(process.execPath, [mainOf('cli'), ...args], env);
    await running.prints(/delivering again/);
    const other = await cli.run([...args, '--since', '2020-01-01']);
    expect([other.code, other.err.match(/left out: webhook \S+ has another/g)?.length]).toEqual([1, 2]);
    expect(await cli.json<Json>([...args, '--cancel'])).toEqual({ cancelled: 2 });
    expect(await running.ended()).toBe(1);
    expect(running.output).toMatch(/2 replays: \d+ of .*\n2 replays cancelled, by another command/);
    expect(await cli.json<Json>([...args, '--cancel'])).toEqual({ cancelled: 0 });
  });
});
