import { Redis } from 'ioredis';
import { idsIn, startWebhooks, type Answer, type Partner, type Webhooks } from './spec-webhooks.js';

// What one partner with a valid token can make the registrations cost everybody else.

const FAT = { userName: 'u'.repeat(2_048), password: 'p'.repeat(2_048), endPointDesc: '\u4e00'.repeat(1_000) };
const MANY = 1_000;

let app: Webhooks;
let partner: Partner;
const start = async (settings: Record<string, string> = {}): Promise<void> => {
  app = await startWebhooks(settings);
  partner = await app.aPartner();
};
afterEach(() => app.stop());

const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  app.ask(method, path, { token: partner.token, headers, ...(body === undefined ? {} : { body }) });
const register = (n: number, more: object = { apiKey: 'k' }): Promise<Answer> =>
  ask('POST', '/webhooks', { eventType: 'task.created', endPointUrl: `https://h${n}.example.com/a`, ...more });
const times = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)));
/** One after the other in a few lines, so that a spec is no flood itself. */
async function inLines(count: number, make: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const line = async (): Promise<void> => {
    while (next < count) await make(next++);
  };
  await times(32, line);
}
const usedMemory = async (): Promise<number> =>
  Number(/^used_memory:(\d+)/m.exec(await app.redis.info('memory'))?.[1] ?? 0);
const appended = (): number => app.spec.registryLog.commands.length;
const statuses = (answers: readonly Answer[]): number[] =>
  [...new Set(answers.map(({ status }) => status))].toSorted((a, b) => a - b);

/** The largest answers that the ingress takes from Redis, in bytes and in members. */
function tap(): { bytes: number; members: number } {
  const largest = { bytes: 0, members: 0 };
  const redis = app.spec.app.get(Redis);
  const send = redis.sendCommand.bind(redis);
  const measure = async (reply: Promise<unknown>): Promise<void> => {
    const taken = await reply.catch(() => undefined);
    largest.bytes = Math.max(largest.bytes, sizeOf(taken));
    largest.members = Math.max(largest.members, membersOf(taken));
  };
  redis.sendCommand = (...args) => {
    void measure(args[0].promise);
    return send(...args);
  };
  return largest;
}
const sizeOf = (reply: unknown): number =>
  Array.isArray(reply) ? reply.reduce<number>((sum, each) => sum + sizeOf(each), 0) : String(reply).length;
const membersOf = (reply: unknown): number =>
  Array.isArray(reply) ? Math.max(reply.length, ...reply.map(membersOf)) : 0;

describe('a thousand webhooks as fat as they may be', () => {
  it('are listed sixteen times at once in slices of 64 KiB, and Redis never hands out more at a time', async () => {
    await start();
    await inLines(MANY, (n) => register(n, FAT));
    const largest = tap();
    const answers = await times(16, () => ask('GET', '/webhooks'));
    expect(statuses(answers)).toEqual([200]);
    expect(answers.map((answer) => idsIn(answer).length)).toEqual(Array.from({ length: 16 }, () => MANY));
    const credential = { userName: FAT.userName, password: FAT.password };
    expect(idsIn(await ask('GET', '/webhooks?eventType=task.created', credential))).toHaveLength(MANY);
    expect(largest.bytes).toBeLessThanOrEqual(65_536 + 1_024);
    expect(largest.members).toBeLessThanOrEqual(100);
  }, 120_000);

  it('cost their partner a point of its quota for each hundred that a list or a conflict shows', async () => {
    await start();
    await inLines(201, (n) => register(n));
    const leftOf = ({ headers }: Answer): number => Number(/"partner";r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);
    const before = leftOf(await ask('GET', '/webhooks?limit=100'));
    expect(leftOf(await ask('GET', '/webhooks'))).toBe(before - 3);
    await ask('DELETE', '/webhooks', { eventType: 'task.created' });
    expect(leftOf(await ask('GET', '/webhooks?limit=1'))).toBe(before - 3 - 3 - 1);
  }, 120_000);
});

describe('a void change', () => {
  it('leaves less than a megabyte in Redis and nothing in the log, asked for a thousand times', async () => {
    await start();
    await inLines(300, (n) => register(n));
    const [before, commands] = [await usedMemory(), appended()];
    let refused: Answer | undefined;
    await inLines(1_000, async () => (refused = await ask('DELETE', '/webhooks', { eventType: 'task.created' })));
    expect(refused?.status).toBe(409);
    expect(refused?.json).toMatchObject({ ids: idsIn(await ask('GET', '/webhooks')) });
    expect(appended()).toBe(commands);
    expect((await usedMemory()) - before).toBeLessThan(1_000_000);
  }, 60_000);

  it('is answered without a command: refused, equal, or active already', async () => {
    await start({ MAX_WEBHOOKS_PER_PARTNER: '2' });
    const created = await register(1, { apiKey: 'k', endPointName: 'n' });
    const { id } = created.json as { id: string };
    await register(2, { apiKey: 'k', eventType: 'plan.created' });
    const commands = appended();
    const same = { eventType: 'task.created', endPointUrl: 'https://h1.example.com/a', apiKey: 'k', endPointName: 'n' };
    const rows: [
      status: number,
      method: string,
      path: string,
      body?: object | undefined,
      headers?: Record<string, string>,
    ][] = [
      [404, 'DELETE', '/webhooks', { eventType: 'task.deleted' }],
      [404, 'PUT', '/webhooks', { ...same, eventType: 'task.deleted' }],
      [409, 'POST', '/webhooks', same],
      [409, 'POST', '/webhooks', { ...same, endPointUrl: 'https://h3.example.com/a' }],
      [200, 'PUT', '/webhooks', same],
      [200, 'PUT', '/webhooks', { ...same, id }],
      [200, 'PATCH', `/webhooks/${id}`, { apiKey: 'k' }],
      [200, 'PATCH', `/webhooks/${id}`, { endPointName: 'n', endPointDesc: null }],
      [200, 'PATCH', `/webhooks/${id}`, {}],
      [412, 'PATCH', `/webhooks/${id}`, { endPointName: 'other' }, { 'if-match': '"999"' }],
      [412, 'DELETE', `/webhooks/${id}`, undefined, { 'if-match': '"999"' }],
      [200, 'POST', `/webhooks/${id}/enable`],
      [404, 'DELETE', '/webhooks/11111111-1111-4111-8111-111111111111'],
    ];
    for (const [status, method, path, body, headers] of rows)
      expect([method, path, (await ask(method, path, body, headers)).status]).toEqual([method, path, status]);
    expect(appended()).toBe(commands);
    expect((await ask('PATCH', `/webhooks/${id}`, { apiKey: 'other' })).status).toBe(200);
    expect(appended()).toBe(commands + 1);
  });
});

describe('changes of one partner', () => {
  it('have a budget over all processes, which only appended changes use up, and which each answer shows', async () => {
    await start({ WEBHOOK_CHANGES: '3' });
    const first = await register(1);
    expect(first.headers['ratelimit-policy']).toContain('"webhook-changes";q=3;w=1000');
    expect(first.headers['ratelimit']).toContain('"webhook-changes";r=2;');
    for (let n = 0; n < 9; n += 1) expect((await register(1)).status).toBe(409);
    expect((await register(2)).status).toBe(201);
    const last = await register(3);
    expect(last.headers['ratelimit']).toContain('"webhook-changes";r=0;');
    const [before, commands] = [await app.stored(), appended()];
    const spent = await register(4);
    expect([spent.status, Number(spent.headers['retry-after']) > 900]).toEqual([429, true]);
    expect(
      (await ask('DELETE', '/webhooks', { eventType: 'task.created', id: (first.json as { id: string }).id })).status,
    ).toBe(429);
    expect([await app.stored(), appended()]).toEqual([before, commands]);
    // What costs nothing goes on, and so does everybody else.
    expect((await register(1)).status).toBe(409);
    expect((await ask('GET', '/webhooks')).status).toBe(200);
    partner = await app.aPartner('other');
    expect((await register(4)).status).toBe(201);
  });
});

describe('webhooks of one event type at one origin', () => {
  it('are at most so many of a partner, also by an update; those that are there stay', async () => {
    await start({ WEBHOOKS_PER_ORIGIN: '2' });
    const at = (path: string, more: object = {}): object => ({
      eventType: 'task.created',
      endPointUrl: `https://victim.example.com/${path}`,
      apiKey: 'k',
      ...more,
    });
    const idOf = ({ json }: Answer): string => (json as { id: string }).id;
    const a = idOf(await ask('POST', '/webhooks', at('a')));
    await ask('POST', '/webhooks', at('b'));
    const commands = appended();
    const refused = await ask('POST', '/webhooks', at('c'));
    expect([refused.status, (refused.json as { detail: string }).detail]).toEqual([
      409,
      'You have 2 webhooks of this eventType at the origin of this endPointUrl, which is the limit.',
    ]);
    const other = idOf(await ask('POST', '/webhooks', at('c', { endPointUrl: 'https://other.example.com/' })));
    expect(appended()).toBe(commands + 1);
    expect((await ask('PATCH', `/webhooks/${other}`, { endPointUrl: 'https://victim.example.com/c' })).status).toBe(
      409,
    );
    expect((await ask('PUT', '/webhooks', at('c', { id: other }))).status).toBe(409);
    expect((await ask('PUT', '/webhooks', at('a2', { id: a }))).status).toBe(200);
    expect((await ask('POST', '/webhooks', at('c', { eventType: 'plan.created' }))).status).toBe(201);
    expect((await ask('DELETE', `/webhooks/${a}`)).status).toBe(204);
    expect((await ask('PATCH', `/webhooks/${other}`, { endPointUrl: 'https://victim.example.com/c' })).status).toBe(
      200,
    );
    partner = await app.aPartner('other');
    expect((await ask('POST', '/webhooks', at('a'))).status).toBe(201);
  });
});

describe('the size of a registration', () => {
  it.each([
    ['endPointDesc', { endPointDesc: '\u0001'.repeat(501) }],
    ['endPointName', { endPointName: '\u007f'.repeat(101) }],
    ['endPointUrl', { endPointUrl: `https://e.example.com/${'\u4e00'.repeat(300)}` }],
    ['password', { apiKey: undefined, userName: 'u', password: '😀'.repeat(1_024) }],
  ])('is bounded in bytes: %s', async (member, given) => {
    await start();
    for (const [method, path] of [
      ['POST', '/webhooks'],
      ['PUT', '/webhooks'],
      ['PATCH', `/webhooks/${((await register(1)).json as { id: string }).id}`],
    ] as const) {
      const answer = await ask(method, path, {
        ...(method === 'PATCH' ? {} : { eventType: 'task.created', endPointUrl: 'https://e.example.com/' }),
        ...('password' in given || method === 'PATCH' ? {} : { apiKey: 'k' }),
        ...given,
      });
      expect(answer).toMatchObject({ status: 400, json: { errors: [{ pointer: `/${member}` }] } });
    }
  });
});
