import { idsIn, startWebhooks, type Answer, type Asking, type Partner, type Webhooks } from './spec-webhooks.js';

const base = { eventType: 'task.created', endPointUrl: 'https://hooks.example.com/a' };

let app: Webhooks;
let partner: Partner;
let other: Partner;
let sender = 0;

beforeAll(async () => {
  app = await startWebhooks();
});
beforeEach(async () => {
  await app.empty();
  partner = await app.aPartner();
  other = await app.aPartner();
  sender += 1;
});
afterAll(async () => {
  await app.stop();
});

/** Each test asks from an address of its own, as its failures are counted. */
const list = (query = '', asking: Asking = {}): Promise<Answer> =>
  app.ask('GET', `/webhooks${query}`, {
    ...asking,
    headers: { 'x-forwarded-for': `198.51.100.${sender}`, ...asking.headers },
  });
const register = async (body: object, by: Partner = partner): Promise<string> => {
  const answer = await app.ask('POST', '/webhooks', { token: by.token, body: { ...base, ...body } });
  expect(answer.status).toBe(201);
  return idsIn({ ...answer, json: [answer.json] }).join('');
};

describe('list with a token', () => {
  it('is an empty array for a partner without webhooks', async () => {
    await register({ jwt: 'j' }, other);
    expect(await list('', { token: partner.token })).toMatchObject({ status: 200, text: '[]' });
  });

  it('answers exactly the five fields, oldest first, and no credential', async () => {
    const credentials = [
      { apiKey: 'hidden-key' },
      { jwt: 'hidden.jwt' },
      { userName: 'hidden-user', password: 'hidden-pw' },
    ];
    const ids: string[] = [];
    for (const [n, credential] of credentials.entries())
      ids.push(await register({ ...credential, endPointUrl: `https://e${n}.example`, endPointName: 'n' }));
    const answer = await list('', { token: partner.token });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.json).toEqual(
      ids.map((id, n) => ({
        id,
        eventType: 'task.created',
        endPointUrl: `https://e${n}.example`,
        endPointDesc: null,
        endPointName: 'n',
      })),
    );
    expect(answer.text).not.toMatch(/hidden|whsec_|v1\./);
    expect(answer.headers['link']).toBeUndefined();
  });

  it('is limited to the webhooks registered with the credential in the body', async () => {
    const a = await register({ jwt: 'a.b.c' });
    const b = await register({ jwt: 'a.b.c', eventType: 'plan.created' });
    await register({ apiKey: 'a.b.c', eventType: 'plan.updated' });
    await register({ jwt: 'a.b.c' }, other);
    const basic = await register({ userName: 'u', password: 'p', eventType: 'message.created' });
    const { token } = partner;
    expect(idsIn(await list('', { token, body: { jwt: 'a.b.c', eventType: 5 } }))).toEqual([a, b]);
    expect(idsIn(await list('?eventType=plan.created', { token, body: { jwt: 'a.b.c' } }))).toEqual([b]);
    expect(idsIn(await list('', { token, body: { userName: 'u', password: 'p' } }))).toEqual([basic]);
    expect(idsIn(await list('', { token, body: { userName: 'u', password: 'P' } }))).toEqual([]);
    expect(idsIn(await list('', { token, body: {} }))).toHaveLength(4);
    await app.ask('PUT', '/webhooks', { token, body: { ...base, jwt: 'new' } });
    expect(idsIn(await list('', { token, body: { jwt: 'a.b.c' } }))).toEqual([b]);
  });

  it.each(['', '&eventType=task.created', '&other=1'])('comes in pages that link to the next%s', async (more) => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await register({ jwt: 'j', endPointUrl: `https://e${n}.example` }));
    const found: string[] = [];
    const sizes: number[] = [];
    for (let query: string | undefined = `?limit=2${more}`; query !== undefined;) {
      const page: Answer = await list(query, { token: partner.token });
      expect(page.status).toBe(200);
      sizes.push(idsIn(page).length);
      found.push(...idsIn(page));
      const link: RegExpExecArray | null = /^<([^>]+)>; rel="next"$/.exec(String(page.headers['link']));
      query = link === null ? undefined : new URL(link[1] ?? '', 'http://x/webhooks').search;
    }
    expect(found).toEqual(ids);
    expect(sizes).toEqual([2, 2, 1]);
  });

  it.each([
    '?limit=0',
    '?limit=1001',
    '?limit=x',
    '?limit=',
    '?limit=1&limit=2',
    '?eventType=task',
    '?cursor=-1',
    '?cursor=x',
  ])('answers 400 to %s and names the parameter', async (query) => {
    const answer = await list(query, { token: partner.token });
    const name = query.slice(1, query.indexOf('='));
    expect(answer).toMatchObject({
      status: 400,
      json: { detail: expect.stringMatching(new RegExp(`${name}(?:: | must be given once)`)) },
    });
  });

  it('takes the limits themselves', async () => {
    for (const limit of [1, 1_000]) expect((await list(`?limit=${limit}`, { token: partner.token })).status).toBe(200);
  });
});

describe('list without a token', () => {
  it('answers the webhooks of the one partner that has the credential', async () => {
    const a = await register({ jwt: 'a.b.c' });
    await register({ apiKey: 'k', eventType: 'plan.created' });
    expect(idsIn(await list('', { body: { jwt: 'a.b.c' } }))).toEqual([a]);
    expect(idsIn(await list('?limit=1&eventType=task.created', { body: { jwt: 'a.b.c' } }))).toEqual([a]);
  });

  it('is the same 401 for a credential of two partners, of none, and of a disabled one', async () => {
    await register({ jwt: 'shared' });
    await register({ jwt: 'shared' }, other);
    const gone = await app.aPartner('gone');
    await register({ jwt: 'disabled' }, gone);
    await app.spec.clients.disable(gone.clientId);
    const details = new Set<string>();
    // The directory remembers clients for a moment; a fresh sight of the store is what a refresh brings.
    await app.refreshClients();
    for (const jwt of ['shared', 'unknown', 'disabled']) {
      const answer = await list('', { body: { jwt } });
      expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer realm="relay"' } });
      details.add(answer.text.replace(/"requestId":"[^"]*"/, ''));
    }
    expect(details.size).toBe(1);
  });

  it.each([undefined, {}, { eventType: 'task.created' }])('is 401 when the body is %j', async (body) => {
    await register({ jwt: 'j' });
    expect(await list('', { body })).toMatchObject({ status: 401 });
  });

  it('is not tried when a token was sent, even a wrong one', async () => {
    await register({ jwt: 'j' });
    expect((await list('', { body: { jwt: 'j' }, token: 'wrong' })).status).toBe(401);
  });

  it('is refused after ten failures from one network, and only there', async () => {
    await register({ jwt: 'right' });
    for (let n = 0; n < 10; n++) expect((await list('', { body: { jwt: `wrong${n}` } })).status).toBe(401);
    for (const jwt of ['wrong', 'right']) {
      const answer = await list('', { body: { jwt } });
      expect(answer.status).toBe(429);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(60);
    }
    const elsewhere = { body: { jwt: 'right' }, headers: { 'x-forwarded-for': '203.0.113.1' } };
    expect((await list('', elsewhere)).status).toBe(200);
    expect((await list('', { token: partner.token })).status).toBe(200);
  });

  it('is refused with the right one behind forty wrong ones at once', async () => {
    await register({ jwt: 'right' });
    const guesses = [...Array.from({ length: 40 }, (_, n) => `wrong${n}`), 'right'];
    const answers = await Promise.all(guesses.map((jwt) => list('', { body: { jwt } })));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
    expect(answers.at(-1)?.status).toBe(429);
  });

  it('is refused after 120 successes: with a webhook of its own a partner could guess the credentials of others', async () => {
    await register({ jwt: 'own' });
    const statuses: number[] = [];
    for (let n = 0; n < 121; n++) statuses.push((await list('', { body: { jwt: 'own' } })).status);
    statuses.push((await list('', { body: { jwt: 'of.somebody.else' } })).status);
    expect(statuses).toEqual([...Array.from({ length: 120 }, () => 200), 429, 429]);
  });

  it('can be switched off', async () => {
    const off = await startWebhooks({ LIST_BY_CREDENTIAL: 'false' });
    const { token } = await off.aPartner();
    await off.ask('POST', '/webhooks', { token, body: { ...base, jwt: 'j' } });
    expect((await off.ask('GET', '/webhooks', { body: { jwt: 'j' } })).status).toBe(401);
    expect(idsIn(await off.ask('GET', '/webhooks', { token, body: { jwt: 'j' } }))).toHaveLength(1);
    await off.stop();
  });
});
