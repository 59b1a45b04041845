import { randomBytes, randomUUID } from 'node:crypto';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AccessTokens } from '@relay/access';
import { Clients, RedisClientStore, type IssuedSecret } from '@relay/identity';
import { parseEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { PARKED, Replays } from '@relay/progress';
import { PublishFailed } from '@relay/publishing';
import { redisReady } from '@relay/redis';
import { RetryQueue, type DeadLetter } from '@relay/retry';
import { RegistryView } from '@relay/registry';
import { MemoryPublisher, MemoryRegistryLog, startRedisServer, type RedisServer } from '@relay/testing';
import { RedisWebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { aSigningKey } from '../../ingress/src/http/spec-app.js';
import { createOperationsApp } from './operations-app.js';
import { OperationsEnv } from './operations.config.js';
import { OperationsModule } from './operations.module.js';
import { routesOf } from './spec-routes.js';

const CANARY = 'canary-4711';
const basicOf = ({ clientId, clientSecret }: IssuedSecret): string =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;

function letterOf(changes: Partial<DeadLetter> = {}): DeadLetter {
  return {
    v: 1,
    webhookId: '-',
    partnerId: '',
    envelopeId: randomUUID(),
    eventType: 'task.created',
    hash: '0123456789abcdef',
    series: 0,
    attempts: 10,
    acceptedAt: 1_000,
    body: JSON.stringify({ secret: CANARY }),
    reason: 'attempts_exhausted',
    diedAt: 2_000,
    ...changes,
  };
}

describe('the operations app', () => {
  let server: RedisServer;
  let app: NestFastifyApplication;
  let url: string;
  let operator: IssuedSecret;
  let partner: IssuedSecret;
  let publisher: MemoryPublisher;
  beforeAll(async () => {
    server = await startRedisServer();
    ({ app, url, publisher } = await start());
    const clients = new Clients(
      new RedisClientStore(app.get(Redis), app.get(RegistryView).of('client')),
      app.get(Keyring),
      randomBytes,
      Date.now,
    );
    [operator, partner] = await Promise.all([clients.createOperator('night'), clients.createPartner('acme')]);
  });
  afterAll(async () => {
    await app.close();
    await server.stop();
  });

  const keys = { ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`, JWT_PRIVATE_KEYS: aSigningKey() };
  const registryLog = new MemoryRegistryLog();
  async function start(settings: Record<string, string> = {}) {
    const env = { REDIS_URL: server.url(), KAFKA_BROKERS: '127.0.0.1:1', LOG_LEVEL: 'silent', ...keys, ...settings };
    const config = parseEnv(OperationsEnv, env, () => '');
    const log = new MemoryPublisher();
    log.createTopic('relay.operations');
    log.createTopic('relay.dead-letters');
    const opened = await createOperationsApp(OperationsModule.register(config, log, registryLog), config);
    await opened.listen(0, '127.0.0.1');
    await redisReady(opened.get(Redis), () => undefined);
    return { app: opened, url: (await opened.getUrl()).replace('[::1]', '127.0.0.1'), publisher: log };
  }
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        authorization: basicOf(operator),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const told = () =>
    publisher.read('relay.operations').map(({ value }) => JSON.parse(value.toString()) as Record<string, unknown>);
  const bury = (letter: DeadLetter) => app.get(RetryQueue).bury(letter);

  it('refuses every route without credentials, with a wrong secret and to a partner', async () => {
    const routes = [...routesOf(app), ['GET', '/nowhere'], ['POST', '/metrics'], ['GET', '/health/live']] as const;
    expect(routes.length).toBeGreaterThan(40);
    expect(routes.map(([, path]) => path)).toEqual(
      expect.arrayContaining(['/', '/lag', '/dead-letters', '/dead-letters/replay', '/board/', '/board/api/queues']),
    );
    const allowed: unknown[] = [];
    const wrong = { clientId: operator.clientId, clientSecret: partner.clientSecret };
    for (const [method, path] of routes) {
      const status = async (headers: Record<string, string>) => (await fetch(url + path, { method, headers })).status;
      const statuses = [await status({}), await status({ authorization: basicOf(partner) })];
      if (statuses.join() !== '401,403') allowed.push([method, path, statuses]);
    }
    expect(allowed).toEqual([]);
    expect((await fetch(`${url}/lag`, { headers: { authorization: basicOf(wrong) } })).status).toBe(401);
  });

  it('asks a browser for a name and password, and gives no reason away', async () => {
    const answer = await fetch(`${url}/board/`);
    expect(answer.headers.get('www-authenticate')).toContain('Basic realm="relay operations"');
    expect(await answer.text()).not.toMatch(/stack|node_modules|\.js:/);
  });

  it('lets programs in by a token with the scope, which a partner’s token has not', async () => {
    const tokens = app.get(AccessTokens);
    const byToken = async (clientId: string, scopes: string[]) =>
      (await call('GET', '/queues', undefined, { authorization: `Bearer ${await tokens.issue(clientId, scopes)}` }))
        .status;
    expect(await byToken(operator.clientId, ['operations'])).toBe(200);
    expect(await byToken(partner.clientId, ['operations'])).toBe(403);
    expect(await byToken('nobody', ['operations'])).toBe(401);
  });

  it('shows the board with the jobs of both queues, without the envelopes', async () => {
    await bury(letterOf());
    const page = await call('GET', '/board/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    const queues = await call('GET', '/board/api/queues?activeQueue=dead-letters&status=waiting&page=1&jobsPerPage=10');
    const text = await queues.text();
    expect(JSON.parse(text)).toMatchObject({ queues: [{ name: 'deliveries' }, { name: 'dead-letters' }] });
    expect(text).toContain('bytes, not shown here');
    expect(text + (await page.text())).not.toContain(CANARY);
  });

  it('loads the board’s own scripts and styles, for operators only', async () => {
    const page = await (await call('GET', '/board/')).text();
    const assets = [...page.matchAll(/(?:src|href)="(static\/[^"]+\.(?:js|css))"/g)].map(
      ([, path = '']) => `/board/${path}`,
    );
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) {
      const open = await fetch(url + path);
      const answer = await call('GET', path);
      expect([path, open.status, answer.status]).toEqual([path, 401, 200]);
      // Closing waits for an answer that nobody reads.
      expect((await answer.text()).length).toBeGreaterThan(0);
    }
  });

  it.each([
    ['PUT', 'deliveries/pause'],
    ['PUT', 'dead-letters/empty'],
    ['PUT', 'dead-letters/obliterate'],
    ['POST', 'deliveries/add'],
  ])('keeps the board read-only: %s %s', async (method, path) => {
    expect((await call(method, `/board/api/queues/${path}`)).status).toBe(403);
    expect(told().filter(({ event }) => event === 'board.change')).toEqual([]);
  });

  it('lists, inspects, replays and purges dead letters, and tells each change and look', async () => {
    const [kept, purged] = [letterOf({ reason: 'gone' }), letterOf({ reason: 'gone', eventType: 'task.updated' })];
    await Promise.all([bury(kept), bury(purged)]);
    const list = await (await call('GET', '/dead-letters?reason=gone')).json();
    expect(list).toMatchObject({ deadLetters: [{ reason: 'gone' }, { reason: 'gone' }] });
    expect(JSON.stringify(list)).not.toContain(CANARY);

    const id = `-_${kept.envelopeId}_${kept.hash}_0`;
    expect(await (await call('GET', `/dead-letters/${id}`)).json()).toMatchObject({ id, body: kept.body });
    expect(await (await call('POST', `/dead-letters/${id}/replay`)).json()).toMatchObject({
      replayed: 0,
      refused: [{ id, why: expect.stringContaining('no webhook matches') }],
    });
    const selection = { reason: 'gone', type: 'task.updated' };
    const dry = await call('POST', '/dead-letters/purge', { ...selection, dryRun: true });
    expect(await dry.json()).toEqual({ matched: 1 });
    expect(await (await call('POST', '/dead-letters/purge', selection)).json()).toEqual({ purged: 1, missing: [] });
    expect((await call('DELETE', `/dead-letters/${id}`)).status).toBe(200);
    expect((await call('GET', `/dead-letters/${id}`)).status).toBe(404);

    const by = { operator: operator.clientId };
    expect(told()).toEqual([
      expect.objectContaining({ ...by, event: 'dead-letter.read', id }),
      expect.objectContaining({ ...by, event: 'dead-letters.replay.asked', ids: [id] }),
      expect.objectContaining({ ...by, event: 'dead-letters.replay.done', replayed: 0 }),
      expect.objectContaining({ ...by, event: 'dead-letters.purge.asked', ...selection }),
      expect.objectContaining({ ...by, event: 'dead-letters.purge.done', purged: 1 }),
      expect.objectContaining({ ...by, event: 'dead-letters.purge.asked', ids: [id] }),
      expect.objectContaining({ ...by, event: 'dead-letters.purge.done', purged: 1 }),
    ]);
  });

  it.each([{}, { ids: ['a'], all: true }, { reason: 'none' }, { all: true, more: 1 }])(
    'chooses nothing by omission: %j',
    async (selection) => {
      expect((await call('POST', '/dead-letters/purge', selection)).status).toBe(400);
    },
  );

  it.each([
    ['/replays?state=some', 'state: Invalid option: expected one of "running"'],
    ['/webhooks?stat=disabled', 'Unrecognized key: "stat"'],
    ['/dead-letters?reason=bad&webhok=x', 'reason: Invalid option'],
  ])('names what it does not understand of %s', async (path, fault) => {
    const answer = await call('GET', path);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining(fault) });
  });

  it('changes nothing that it cannot tell', async () => {
    await bury(letterOf({ reason: 'handling_failed' }));
    publisher.failure = new PublishFailed('unavailable', 'away');
    const answer = await call('POST', '/dead-letters/purge', { reason: 'handling_failed' });
    publisher.failure = undefined;
    expect(answer.status).toBe(503);
    expect(await (await call('GET', '/dead-letters?reason=handling_failed')).json()).toMatchObject({
      deadLetters: [{ reason: 'handling_failed' }],
    });
  });

  it('lists replays with how far they are, and ends one after that is told', async () => {
    const of = { webhookId: randomUUID(), partnerId: 'p', eventType: 'task.created', status: 'all' as const };
    const ordered = { ...of, since: 5_000, until: undefined };
    const replays = new Replays(app.get(Redis));
    const range = { topic: 'task.created', partition: 0, from: 0, end: 9 };
    await replays.create({ id: 'earlier', ...ordered, orderedBy: 'partner' }, [range], Date.now() - 1_000);
    await app.get(Redis).hdel('{relay:0}:replay:earlier', 'orderedBy'); // as an older release stored it
    await replays.cancel('earlier', Date.now());
    await replays.create({ id: 'later', ...ordered, orderedBy: 'partner' }, [range], Date.now());
    const list = async (query: string): Promise<unknown> => (await call('GET', `/replays${query}`)).json();
    expect(await list('')).toMatchObject({
      replays: [
        {
          id: 'later',
          state: 'running',
          matched: 9,
          since: '1970-01-01T00:00:05.000Z',
          partnerId: 'p',
          orderedBy: 'partner',
        },
        { id: 'earlier', state: 'cancelled', matched: 9, orderedBy: null },
      ],
    });
    expect(await list('?state=cancelled&limit=5')).toMatchObject({ replays: [{ id: 'earlier' }] });
    expect(await list('?state=cancelled&limit=1')).toMatchObject({ replays: [{ id: 'earlier' }] });
    expect(await list('?limit=1')).toMatchObject({ replays: [{ id: 'later' }] });

    publisher.failure = new PublishFailed('unavailable', 'away');
    expect((await call('DELETE', '/replays/later')).status).toBe(503);
    publisher.failure = undefined;
    expect((await call('DELETE', '/replays/later')).status).toBe(204);
    expect(await (await call('GET', '/replays/later')).json()).toMatchObject({ state: 'cancelled' });
    expect((await call('DELETE', '/replays/earlier')).status).toBe(204); // had ended: nothing is done, and nothing told
    expect(told().at(-1)).toMatchObject({ event: 'replay.cancelled', operator: operator.clientId, id: 'later' });
    for (const method of ['GET', 'DELETE']) expect((await call(method, '/replays/none')).status).toBe(404);
  });

  it('takes changes from its own pages only', async () => {
    const foreign = { origin: 'https://evil.example' };
    expect((await call('POST', '/dead-letters/purge', { all: true }, foreign)).status).toBe(403);
    expect((await call('POST', '/dead-letters/purge', { all: true, dryRun: true }, { origin: url })).status).toBe(200);
  });

  it('lists webhooks by the status that their partners see, without path and query of their addresses', async () => {
    const store = new RedisWebhookStore(app.get(Redis), app.get(RegistryView).of('webhook'), app.get(Keyring), 10);
    const seen = { eventType: 'task.created' as const, origin: 'https://hooks.example.com' };
    const texts = { endPointUrl: `${seen.origin}/1?key=${CANARY}`, endPointDesc: undefined, endPointName: undefined };
    const { id } = (await store.register('p', { ...seen, ...texts, url: '', apiKey: 'k' })) as { id: string };
    await app.get(Redis).sadd(PARKED, id);
    const parked = await (await call('GET', '/webhooks?status=parked')).json();
    expect(parked).toEqual({ total: 1, webhooks: [{ id, partnerId: 'p', ...seen, status: 'parked' }] });
  });

  it('says when Kafka does not answer, and lists webhooks and queues all the same', async () => {
    expect((await call('GET', '/lag')).status).toBe(503);
    for (const status of ['active', 'disabled'])
      expect(await (await call('GET', `/webhooks?status=${status}`)).json()).toEqual({ total: 0, webhooks: [] });
    expect(await (await call('GET', '/queues')).json()).toMatchObject({ queues: expect.any(Array) });
    expect((await call('GET', '/')).headers.get('location')).toBe('/board/');
  });

  it('permits with OPERATIONS_WRITE what makes nothing vanish, and tells it', async () => {
    const writing = await start({ OPERATIONS_WRITE: 'true' });
    const put = async (path: string) => {
      const headers = { authorization: basicOf(operator) };
      return (await fetch(`${writing.url}/board/api/queues/${path}`, { method: 'PUT', headers })).status;
    };
    expect([await put('deliveries/pause'), await put('deliveries/resume')]).toEqual([200, 200]);
    for (const path of ['deliveries/empty', 'deliveries/obliterate', 'dead-letters/empty', 'deliveries/x/clean'])
      expect([path, await put(path)]).toEqual([path, 403]);
    const events = writing.publisher.read('relay.operations').map(({ value }) => String(value));
    expect(events).toHaveLength(2);
    expect(events[0]).toContain('/board/api/queues/deliveries/pause');
    await writing.app.close();
  });
});
