import { ClientDirectory, type IssuedSecret } from '@relay/identity';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { ConsoleSessions, IDLE_MS, LINK_MS, readSession } from '../access/console-sessions.adapter.js';
import { basicOf, RunningOperations } from '../spec-operations.js';

const ACTING = { 'relay-console': 'acting', authorization: '' };

describe('a session of the console', () => {
  let server: RedisServer;
  let operations: RunningOperations;
  beforeAll(async () => {
    server = await startRedisServer();
    operations = await RunningOperations.start(server, { OPERATIONS_WRITE: 'true' });
  });
  afterAll(async () => {
    await operations.close();
    await server.stop();
  });

  const enter = ({ clientId, clientSecret }: IssuedSecret, headers: Record<string, string> = {}): Promise<Response> =>
    operations.call('POST', '/session', { clientId, clientSecret }, { ...ACTING, ...headers });
  const cookieOf = (answer: Response): string => answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  const sessionOf = async (issued = operations.operator): Promise<string> => cookieOf(await enter(issued));
  const statusWith = async (
    cookie: string,
    { method = 'GET', path = '/session', body, ...headers }: Record<string, string> = {},
  ): Promise<number> => {
    const given = { cookie, ...ACTING, ...headers };
    const answer = await operations.call(method, path, body === undefined ? undefined : JSON.parse(body), given);
    await answer.text();
    return answer.status;
  };

  it('lets an operator in by a cookie that no script reads and no other site sends, until it leaves', async () => {
    const answer = await enter(operations.operator);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ name: 'night', role: 'admin', canWrite: true, idleS: 1_800 });
    expect(answer.headers.get('set-cookie')).toMatch(/^relay_console=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict$/);
    const cookie = cookieOf(answer);
    for (const path of ['/session', '/queues', '/board/', '/board/api/queues'])
      expect([path, await statusWith(cookie, { path })]).toEqual([path, 200]);
    const left = await operations.call('DELETE', '/session', undefined, { cookie, origin: operations.url, ...ACTING });
    expect([left.status, left.headers.getSetCookie().map((each) => each.split(';', 2).join())]).toEqual([
      204,
      ['__Host-relay_console=, Max-Age=0', 'relay_console=, Max-Age=0'],
    ]);
    expect(await statusWith(cookie)).toBe(401);
    expect(await statusWith('', { method: 'DELETE' })).toBe(204);
  });

  it('ends when somebody signs in again in the same browser', async () => {
    const former = await sessionOf();
    const next = cookieOf(await enter(operations.operator, { cookie: former }));
    expect([await statusWith(former), await statusWith(next)]).toEqual([401, 200]);
  });

  it('has a cookie of this host and of TLS alone where the page came by HTTPS, though a proxy ended TLS', async () => {
    const answer = await enter(operations.operator, { origin: operations.url.replace('http:', 'https:') });
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-relay_console=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
    const other = await sessionOf(await operations.clients.createOperator('plants a cookie', 'viewer'));
    const cookie = `${other}; ${cookieOf(answer)}`;
    const shown = await operations.call('GET', '/session', undefined, { cookie, ...ACTING });
    expect(await shown.json()).toMatchObject({ clientId: operations.operator.clientId });
  });

  it('refuses wrong secrets, partners and whoever guesses, and makes no browser ask for a password', async () => {
    const partner = await operations.clients.createPartner('acme');
    expect((await enter(partner)).status).toBe(403);
    const wrong = { clientId: operations.operator.clientId, clientSecret: partner.clientSecret };
    const first = await enter(wrong);
    expect([first.status, first.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="relay"']);
    const rest: number[] = [];
    for (let guess = 0; guess < 10; guess += 1) rest.push((await enter(wrong)).status);
    expect(rest.at(-1)).toBe(429);
    // Nor does a cookie of another form or another operator open anything.
    const [id, secret] = (await sessionOf()).split('.');
    for (const cookie of ['', 'relay_console=', `${id}.${'A'.repeat(43)}`, `relay_console=operator_other.${secret}`])
      expect([cookie, await statusWith(cookie)]).toEqual([cookie, 401]);
    const challenge = (await operations.call('GET', '/queues', undefined, ACTING)).headers.get('www-authenticate');
    expect(challenge).toBe('Bearer realm="relay"');
  });

  it('counts instead of the password that a browser remembers', async () => {
    const authorization = basicOf(operations.operator);
    expect(await statusWith('', { authorization })).toBe(401);
  });

  it('changes something only from a page of this site', async () => {
    const cookie = await sessionOf();
    const purge = { method: 'POST', path: '/dead-letters/purge', body: '{"all":true,"dryRun":true}' };
    const origin = operations.url;
    expect(await statusWith(cookie, { ...purge, origin })).toBe(200);
    expect(await statusWith(cookie, purge)).toBe(403); // no origin
    expect(await statusWith(cookie, { ...purge, origin: 'https://evil.example' })).toBe(403);
    expect(await statusWith(cookie, { ...purge, origin, 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await statusWith(cookie, { path: '/queues', 'sec-fetch-site': 'cross-site' })).toBe(403);
    // As a form would.
    const form = await fetch(origin + purge.path, { method: 'POST', headers: { cookie, origin } });
    expect(form.status).toBe(403);
    expect((await enter(operations.operator, { origin: 'https://evil.example' })).status).toBe(403);
    const leave = { method: 'DELETE', path: '/session' };
    for (const headers of [{}, { origin: 'https://evil.example' }, { origin, 'sec-fetch-site': 'same-site' }])
      expect(await statusWith(cookie, { ...leave, ...headers })).toBe(403);
    const unmarked = await fetch(`${origin}/session`, { method: 'DELETE', headers: { cookie, origin } });
    expect([unmarked.status, await statusWith(cookie)]).toEqual([403, 200]);
    const board = { method: 'PUT', path: '/board/api/queues/deliveries/pause' };
    expect(await statusWith(cookie, board)).toBe(403);
    expect(await statusWith(cookie, { ...board, origin })).toBe(200);
  });

  it('does nothing for a page that shows another operator, nor ends for it', async () => {
    const cookie = await sessionOf();
    const own = { origin: operations.url, 'relay-console-operator': operations.operator.clientId };
    const other = { ...own, 'relay-console-operator': 'operator_of-another-tab' };
    const purge = { method: 'POST', path: '/dead-letters/purge', body: '{"all":true,"dryRun":true}' };
    for (const asked of [{}, purge, { method: 'DELETE' }])
      expect([asked, await statusWith(cookie, { ...asked, ...other })]).toEqual([asked, 401]);
    expect(await statusWith(cookie, { ...purge, ...own })).toBe(200);
  });

  it('has the role of its operator, as it is now', async () => {
    const viewer = await operations.clients.createOperator('looks', 'viewer');
    const cookie = await sessionOf(viewer);
    const origin = operations.url;
    expect(await statusWith(cookie, { path: '/clients' })).toBe(200);
    for (const [method, path] of [
      ['POST', '/dead-letters/purge'],
      ['POST', '/clients'],
      ['PUT', '/board/api/queues/deliveries/pause'],
    ] as const)
      expect([path, await statusWith(cookie, { method, path, origin })]).toEqual([path, 403]);
  });

  it('ends with the secret that opened it, and with its operator', async () => {
    const issued = await operations.clients.createOperator('ends', 'admin');
    const first = await sessionOf(issued);
    const next = await operations.clients.rotateSecret(issued.clientId, { endsTokens: true });
    await operations.app.get(ClientDirectory).refresh();
    expect(await statusWith(first)).toBe(401);
    const second = await sessionOf(next);
    expect(await statusWith(second)).toBe(200);
    await operations.clients.disable(issued.clientId);
    await operations.app.get(ClientDirectory).refresh();
    expect(await statusWith(second)).toBe(401);
  });

  it('opens by a link once, whoever asked for it by the secret, and the audit names that operator', async () => {
    const env = { CONSOLE_LINKS: 'true', RELAY_ENV: 'development' };
    const linked = await RunningOperations.start(server, env);
    const post = (path: string, body: object): Promise<Response> => linked.call('POST', path, body, ACTING);
    const linkOf = async ({ clientId, clientSecret }: IssuedSecret): Promise<{ status: number; code?: string }> => {
      const answer = await post('/session/links', { clientId, clientSecret });
      return { ...((await answer.json()) as { code?: string }), status: answer.status };
    };
    try {
      const issued = await linked.clients.createOperator('linked', 'viewer');
      const [{ code = '' }, partner] = [await linkOf(issued), await linked.clients.createPartner('acme')];
      expect(linked.told().at(-1)).toMatchObject({ event: 'console.linked', operator: issued.clientId });
      expect(JSON.stringify(linked.told())).not.toContain(code);
      const redis = linked.app.get(Redis);
      const [key = '', ...others] = await redis.keys('{relay:0}:console:link:*');
      expect([others, key.includes(code)]).toEqual([[], false]);
      expect(await redis.pttl(key)).toBeLessThanOrEqual(LINK_MS);

      const opened = await post('/session/code', { code });
      expect([opened.status, await opened.json()]).toEqual([200, expect.objectContaining({ role: 'viewer' })]);
      expect(cookieOf(opened)).toContain(`relay_console=${issued.clientId}.`);
      expect([(await post('/session/code', { code })).status, await redis.exists(key)]).toEqual([404, 0]);

      // It ends with the secret. A wrong secret, a partner and a session or token alone get none.
      const { code: late } = await linkOf(issued);
      await linked.clients.rotateSecret(issued.clientId, { endsTokens: true });
      await linked.app.get(ClientDirectory).refresh();
      expect((await post('/session/code', { code: late })).status).toBe(404);
      const wrong = { ...issued, clientSecret: partner.clientSecret };
      const named = { clientId: issued.clientId };
      const alone = await linked.call('POST', '/session/links', named, { cookie: cookieOf(opened), ...ACTING });
      expect([(await linkOf(wrong)).status, (await linkOf(partner)).status, alone.status]).toEqual([401, 403, 400]);
    } finally {
      await linked.close();
    }
  });

  it.each([[{ RELAY_ENV: 'production' }], [{}], [{ RELAY_ENV: 'development', NODE_ENV: 'production' }]])(
    'opens by no link with %j: the process does not start',
    async (env) => {
      const started = RunningOperations.start(server, { ...env, CONSOLE_LINKS: 'true' });
      await expect(started).rejects.toThrow('CONSOLE_LINKS=true is for development: it needs RELAY_ENV=development');
    },
  );

  it('is one of ten of its operator, and Redis holds no id', async () => {
    const issued = await operations.clients.createOperator('many', 'viewer');
    const cookies: string[] = [];
    for (let made = 0; made < 11; made += 1) cookies.push(await sessionOf(issued));
    expect(await statusWith(cookies.at(-1) ?? '')).toBe(200);
    const redis = operations.app.get(Redis);
    const key = `{relay:0}:console:${issued.clientId}`;
    const stored = await redis.hgetall(key);
    expect(Object.keys(stored)).toHaveLength(10);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    for (const cookie of cookies) expect(JSON.stringify(stored)).not.toContain(cookie.split('.')[1]);
  });

  it('ends when nobody does anything, though a page goes on refreshing itself', async () => {
    let now = Date.now();
    const sessions = new ConsoleSessions(
      operations.app.get(Redis),
      (bytes) => Buffer.alloc(bytes, 7),
      () => now,
    );
    const id = await sessions.open({ clientId: 'operator_idle', generation: 3 });
    const after = async (ms: number, isActing: boolean): Promise<number | undefined> => {
      now += ms;
      return (await sessions.find(id, isActing))?.generation;
    };
    expect(await after(IDLE_MS - 60_000, true)).toBe(3);
    expect(await after(IDLE_MS - 60_000, false)).toBe(3);
    expect(await after(60_001, false)).toBeUndefined();
    const again = await sessions.open({ clientId: 'operator_idle', generation: 3 });
    for (let hours = 0; hours < 11.5; hours += 0.25) {
      now += 900_000;
      expect((await sessions.find(again, true))?.generation).toBe(3);
    }
    now += 900_001;
    await sessions.find(again, true);
    now += 900_000;
    expect(await sessions.find(again, true)).toBeUndefined();
  });

  it('continues while Redis is away if the process has seen it before', async () => {
    const cookie = await sessionOf();
    expect(await statusWith(cookie)).toBe(200);
    const { port } = server;
    await server.stop();
    try {
      expect([await statusWith(cookie), await statusWith(cookie, { path: '/queues' })]).toEqual([200, 503]);
      const unknown = `relay_console=${operations.operator.clientId}.${'B'.repeat(43)}`;
      expect(await statusWith(unknown)).toBe(503);
    } finally {
      server = await startRedisServer(port);
    }
    expect(readSession(`a=b; ${cookie}; c`)).toMatchObject({ clientId: operations.operator.clientId });
  });
});
