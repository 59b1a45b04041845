import { randomUUID } from 'node:crypto';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AccessTokens } from '@relay/access';
import { ClientDirectory, type IssuedSecret } from '@relay/identity';
import { Keyring } from '@relay/keyring';
import { parkedKey } from '@relay/progress';
import { onlyShard, oneShard } from '@relay/redis';
import { PublishFailed } from '@relay/publishing';
import { RegistryView } from '@relay/registry';
import { Replays } from '@relay/replays';
import { startRedisServer, type MemoryPublisher, type RedisServer } from '@relay/testing';
import { WebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { basicOf, CANARY, ID, letterOf, routesOf, RunningOperations } from './spec-operations.js';

describe('the operations app', () => {
  let server: RedisServer;
  let operations: RunningOperations;
  let app: NestFastifyApplication;
  let url: string;
  let operator: IssuedSecret;
  let partner: IssuedSecret;
  let publisher: MemoryPublisher;
  beforeAll(async () => {
    server = await startRedisServer();
    operations = await RunningOperations.start(server);
    ({ app, url, operator, publisher } = operations);
    partner = await operations.clients.createPartner('acme');
  });
  afterAll(async () => {
    await operations.close();
    await server.stop();
  });
  const call: RunningOperations['call'] = (...request) => operations.call(...request);
  const told = () => operations.told();

  it('refuses every route without credentials, with a wrong secret and to a partner', async () => {
    const routes = [...routesOf(app), ['GET', '/nowhere'], ['POST', '/metrics'], ['GET', '/health/live']] as const;
    expect(routes.length).toBeGreaterThan(40);
    expect(routes.map(([, path]) => path)).toEqual(
      expect.arrayContaining(['/', '/lag', '/dead-letters', '/dead-letters/replay', '/board/', '/board/api/queues']),
    );
    const allowed: [route: string, statuses: number[]][] = [];
    const wrong = { clientId: operator.clientId, clientSecret: partner.clientSecret };
    for (const [method, path] of routes) {
      const status = async (headers: Record<string, string>) => (await fetch(url + path, { method, headers })).status;
      const statuses = [await status({}), await status({ authorization: basicOf(partner) })];
      if (statuses.join() !== '401,403') allowed.push([`${method} ${path}`, statuses]);
    }
    // The page and the sign-in contain no data. The session routes open a session without one, and end it.
    const open = allowed.filter(([route]) => !/^(?:GET|HEAD) \/(?:files\/.*|sign-in(?:\/\w+)?)?$/.test(route));
    expect(open).toEqual([
      ['POST /session', [400, 400]],
      ['DELETE /session', [204, 204]],
      ['POST /session/links', [400, 400]],
      ['POST /session/code', [400, 400]],
    ]);
    expect((await fetch(`${url}/lag`, { headers: { authorization: basicOf(wrong) } })).status).toBe(401);
  });

  it('has exactly the routes of its own OpenAPI document', async () => {
    const { paths } = (await (await call('GET', '/openapi.json')).json()) as { paths: Record<string, object> };
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/{\w+}/g, ID)}`),
    );
    const routed = routesOf(app).filter(([method, path]) => method !== 'HEAD' && !path.startsWith('/board'));
    expect(documented.toSorted()).toEqual(routed.map((route) => route.join(' ')).toSorted());
  });

  it('lists in pages: what takes a limit says in Link where the next page is', async () => {
    const { paths } = (await (await call('GET', '/openapi.json')).json()) as { paths: Record<string, object> };
    const lists = Object.entries(paths).flatMap(([path, methods]) => {
      const { get } = methods as { get?: { parameters?: { name: string }[]; responses: { 200: { headers: object } } } };
      const names = get?.parameters?.map(({ name }) => name) ?? [];
      return get !== undefined && names.includes('limit')
        ? [{ path, names, headers: Object.keys(get.responses[200].headers) }]
        : [];
    });
    expect(lists.length).toBeGreaterThan(4);
    for (const { path, names, headers } of lists) {
      expect([path, headers]).toEqual([path, expect.arrayContaining(['Link'])]);
      expect([path, names.some((name) => ['cursor', 'before'].includes(name))]).toEqual([path, true]);
    }
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

  it('refuses a token that was got by a secret which has ended', async () => {
    const { clientId } = await operations.clients.createOperator('robbed', 'admin');
    const stolen = await app.get(AccessTokens).issue(clientId, ['operations']);
    const ask = async (): Promise<number> =>
      (await call('GET', '/queues', undefined, { authorization: `Bearer ${stolen}` })).status;
    expect(await ask()).toBe(200);
    await operations.clients.rotateSecret(clientId, { endsTokens: true });
    await app.get(ClientDirectory).refresh();
    expect(await ask()).toBe(401);
  });

  it('shows the board with the jobs of both queues, without the envelopes', async () => {
    await operations.addDeadLetter(letterOf());
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

  it.each([
    ['/replays?state=some', 'state must be one of "running"'],
    ['/webhooks?stat=disabled', 'stat is not known here'],
    ['/dead-letters?reason=bad&webhok=x', 'reason must be one of "'],
  ])('names what it does not understand of %s', async (path, fault) => {
    const answer = await call('GET', path);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining(fault) });
  });

  it('obeys no order with a parameter or a member that it does not know, or for a version that there is not', async () => {
    const changing = routesOf(app).filter(
      ([method, path]) => !['GET', 'HEAD'].includes(method) && !path.startsWith('/board'),
    );
    expect(changing.length).toBeGreaterThan(15);
    for (const [method, path] of changing) {
      const parameter = await call(method, `${path}?dryRun=true`);
      const member = await call(method, path, {
        dryrun: true,
        clientId: 'c',
        clientSecret: 's',
        kind: 'partner',
        name: 'n',
      });
      const needsBody = method === 'PUT' && path.startsWith('/event-types/');
      const body = needsBody ? { description: 'd', sample: {} } : undefined;
      const version = await call(method, path, body, { 'if-match': '"1"' });
      expect([method, path, parameter.status, member.status, version.status]).toEqual([method, path, 400, 400, 412]);
      expect(await member.text()).toContain('"/dryrun"');
    }
  });

  it('lists replays with how far they are, and ends one after that is told', async () => {
    const of = { webhookId: randomUUID(), partnerId: 'p', eventType: 'task.created', status: 'all' as const };
    const ordered = { ...of, since: 5_000, until: undefined };
    const replays = new Replays(app.get(Redis), oneShard(app.get(Redis)));
    const range = { topic: 'task.created', partition: 0, from: 0, end: 9 };
    await replays.create({ id: 'earlier', ...ordered, orderedBy: 'operator' }, [range], Date.now() - 1_000);
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
        { id: 'earlier', state: 'cancelled', matched: 9, orderedBy: 'operator' },
      ],
    });
    expect(await list('?state=cancelled&limit=5')).toMatchObject({ replays: [{ id: 'earlier' }] });
    expect(await list('?state=cancelled&limit=1')).toMatchObject({ replays: [{ id: 'earlier' }] });
    const first = await call('GET', '/replays?limit=1');
    expect(await first.json()).toMatchObject({ replays: [{ id: 'later' }] });
    const link = /^<\/replays(\?.*)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect(await list(link)).toMatchObject({ replays: [{ id: 'earlier' }] });

    const steer = async (what: string): Promise<unknown> => (await call('POST', `/replays/later/${what}`)).json();
    expect(await steer('pause')).toMatchObject({ id: 'later', state: 'paused' });
    publisher.failure = new PublishFailed('unavailable', 'away');
    expect([await steer('resume'), (await call('DELETE', '/replays/later')).status]).toMatchObject([
      { status: 503 },
      503,
    ]);
    publisher.failure = undefined;
    expect(await steer('resume')).toMatchObject({ id: 'later', state: 'running' });
    expect(
      told()
        .map(({ event, id, requestId }) => [event, id, typeof requestId])
        .slice(-2),
    ).toEqual([
      ['replay.paused', 'later', 'string'],
      ['replay.resumed', 'later', 'string'],
    ]);
    for (const what of ['pause', 'resume'])
      expect([what, (await call('POST', `/replays/earlier/${what}`)).status]).toEqual([what, 409]);
    expect((await call('DELETE', '/replays/later')).status).toBe(204);
    expect(await (await call('GET', '/replays/later')).json()).toMatchObject({ state: 'cancelled' });
    expect((await call('DELETE', '/replays/earlier')).status).toBe(204); // had ended: nothing is done, and nothing told
    expect(told().at(-1)).toMatchObject({
      event: 'replay.cancelled',
      operator: operator.clientId,
      requestId: expect.any(String),
      id: 'later',
    });
    for (const method of ['GET', 'DELETE']) expect((await call(method, '/replays/none')).status).toBe(404);
  });

  it('takes changes from its own pages only', async () => {
    // The last is a page of the same host without TLS.
    for (const foreign of [{ origin: 'https://evil.example' }, { origin: url, 'sec-fetch-site': 'cross-site' }])
      expect((await call('POST', '/dead-letters/purge', { all: true }, foreign)).status).toBe(403);
    expect((await call('POST', '/dead-letters/purge', { all: true, dryRun: true }, { origin: url })).status).toBe(200);
  });

  it('lists webhooks by the status that their partners see, without path and query of their addresses', async () => {
    const store = new WebhookStore(app.get(Redis), app.get(RegistryView).of('webhook'), app.get(Keyring), {
      perPartner: 10,
    });
    const seen = { eventType: 'task.created' as const, origin: 'https://hooks.example.com' };
    const texts = { endPointUrl: `${seen.origin}/1?key=${CANARY}`, endPointDesc: undefined, endPointName: undefined };
    const { id } = (await store.register('p', { ...seen, ...texts, url: '', apiKey: 'k' })) as { id: string };
    const redis = app.get(Redis);
    await redis.sadd(parkedKey(onlyShard(redis)), id);
    const parked = await (await call('GET', '/webhooks?status=parked')).json();
    expect(parked).toMatchObject({ total: 1, webhooks: [{ id, partnerId: 'p', ...seen, status: 'parked' }] });
    expect(JSON.stringify(parked)).not.toContain(CANARY);
  });

  it('says when Kafka does not answer, and lists webhooks and queues all the same', async () => {
    expect((await call('GET', '/lag')).status).toBe(503);
    for (const status of ['active', 'disabled'])
      expect(await (await call('GET', `/webhooks?status=${status}`)).json()).toEqual({ total: 0, webhooks: [] });
    expect(await (await call('GET', '/queues')).json()).toMatchObject({ queues: expect.any(Array) });
  });

  it('permits with OPERATIONS_WRITE what makes nothing vanish, and tells it', async () => {
    const writing = await RunningOperations.start(server, { OPERATIONS_WRITE: 'true' });
    const put = async (path: string) => {
      const headers = { authorization: basicOf(operator) };
      return (await fetch(`${writing.url}/board/api/queues/${path}`, { method: 'PUT', headers })).status;
    };
    expect([await put('deliveries/pause'), await put('deliveries/resume')]).toEqual([200, 200]);
    const refused = ['empty', 'obliterate', 'x/clean', 'clean/promote', '%63lean/promote', 'retry/promote'];
    for (const path of ['dead-letters/empty', ...refused.map((change) => `deliveries/${change}`)])
      expect([path, await put(path)]).toEqual([path, 403]);
    const events = writing.publisher.read('relay.operations').map(({ value }) => String(value));
    expect(events).toHaveLength(2);
    expect(events[0]).toContain('/board/api/queues/deliveries/pause');
    await writing.close();
  });
});
