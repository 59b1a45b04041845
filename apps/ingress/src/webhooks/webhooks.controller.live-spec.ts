import { EVENT_TYPES } from '@relay/events';
import { FORBIDDEN_HOSTS } from '@relay/testing';
import { z } from 'zod';
import { startWebhooks, type Answer, type Partner, type Webhooks } from './spec-webhooks.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const base = { eventType: 'task.created', endPointUrl: 'https://hooks.example.com/a' };
const valid = { ...base, apiKey: 'the-api-key' };
const unknownId = '00000000-0000-4000-8000-000000000000';

let app: Webhooks;
let partner: Partner;
let other: Partner;

beforeAll(async () => {
  app = await startWebhooks({ MAX_WEBHOOKS_PER_PARTNER: '20', WEBHOOK_CHANGES: '100000' });
});
beforeEach(async () => {
  partner = await app.aPartner();
  other = await app.aPartner();
});
afterAll(async () => {
  await app.stop();
});

const ask = (method: string, body?: unknown, by: Partner = partner, path = '/webhooks'): Promise<Answer> =>
  app.ask(method, path, { token: by.token, body });
const list = async (by: Partner = partner): Promise<unknown> => (await ask('GET', undefined, by)).json;
const registered = async (body: object = valid, by: Partner = partner): Promise<string> => {
  const answer = await ask('POST', body, by);
  expect(answer.status).toBe(201);
  return idIn(answer);
};
const idIn = ({ json }: Answer): string =>
  typeof json === 'object' && json !== null && 'id' in json ? String(json.id) : 'none';
const Stored = z.object({
  endPointName: z.string(),
  endPointDesc: z.string(),
  version: z.number(),
  sequence: z.number(),
});
const Faults = z.object({ errors: z.array(z.object({ pointer: z.string() })) });
const pointersIn = ({ json }: Answer): string[] => Faults.parse(json).errors.map(({ pointer }) => pointer);
const record = (id: string, changes: object = {}): object => ({
  id,
  ...base,
  endPointDesc: null,
  endPointName: null,
  ...changes,
});

describe('register', () => {
  it.each([
    ['an API key', { apiKey: 'key-of-ours' }, {}],
    [
      'a JWT and texts',
      { jwt: 'a.b.c', endPointDesc: 'd', endPointName: 'n' },
      { endPointDesc: 'd', endPointName: 'n' },
    ],
    ['user and password', { userName: 'user-u', password: 'pass:w' }, {}],
    ['null texts and unknown attributes', { apiKey: 'k', endPointDesc: null, endPointName: null, id: 7, x: {} }, {}],
  ])('takes %s and answers 201 with the id and where it is', async (_, members, shown) => {
    const answer = await ask('POST', { ...base, ...members });
    const id = idIn(answer);
    expect(answer).toMatchObject({ status: 201, json: { id: expect.stringMatching(UUID) } });
    expect(answer.text).toBe(JSON.stringify({ id }));
    expect(answer.headers.location).toBe(`/webhooks/${id}`);
    expect(await list()).toEqual([record(id, shown)]);
  });

  it('takes each of the 14 event types', async () => {
    for (const eventType of EVENT_TYPES) await registered({ ...valid, eventType });
    expect(await list()).toMatchObject(EVENT_TYPES.map((eventType) => ({ eventType })));
  });

  it('answers 409 with the existing id to the same event type and URL of the same partner', async () => {
    const id = await registered();
    const before = await app.stored();
    const again = await ask('POST', { ...base, jwt: 'j', endPointUrl: 'HTTPS://HOOKS.example.com:443/a' });
    expect(again).toMatchObject({ status: 409, json: { id, type: expect.stringMatching(/#conflict$/) } });
    expect(await app.stored()).toBe(before);
    await registered({ ...valid, eventType: 'task.updated' });
    await registered(valid, other);
  });

  it('lets exactly one of 50 equal ones at once in', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => ask('POST', { ...base, jwt: `j${n}` })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(49);
    expect(new Set(answers.map(idIn)).size).toBe(1);
    expect(await list()).toHaveLength(1);
  });

  it('refuses more than MAX_WEBHOOKS_PER_PARTNER of one partner', async () => {
    for (let n = 0; n < 20; n++) await registered({ ...valid, endPointUrl: `https://e.example/${n}` });
    const answer = await ask('POST', valid);
    expect(answer).toMatchObject({ status: 409, json: { detail: expect.stringContaining('20') } });
    expect(idIn(answer)).toBe('none');
    await registered(valid, other);
  });
});

describe('the refused member', () => {
  it.each(FORBIDDEN_HOSTS)('is the URL when its host is %s, and the answer says why', async (host) => {
    const answer = await ask('POST', { ...valid, endPointUrl: `https://${host}/hook` });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({
      errors: [{ pointer: '/endPointUrl', detail: 'The URL must lead to a public address.' }],
    });
  });

  it.each([
    ['eventType is none of the 14', { ...valid, eventType: 'task.renamed' }, ['/eventType']],
    ['eventType is missing', { endPointUrl: base.endPointUrl, jwt: 'a' }, ['/eventType']],
    ['endPointUrl is missing', { eventType: 'task.created', jwt: 'a' }, ['/endPointUrl']],
    ['endPointUrl is no text', { ...valid, endPointUrl: ['https://e.example'] }, ['/endPointUrl']],
    ['endPointUrl is no URL', { ...valid, endPointUrl: 'hooks' }, ['/endPointUrl']],
    ['endPointUrl is not https', { ...valid, endPointUrl: 'http://hooks.example.com' }, ['/endPointUrl']],
    ['endPointUrl has a user', { ...valid, endPointUrl: 'https://u:p@hooks.example.com' }, ['/endPointUrl']],
    ['endPointUrl has a fragment', { ...valid, endPointUrl: 'https://hooks.example.com/#a' }, ['/endPointUrl']],
    ['endPointUrl has another port', { ...valid, endPointUrl: 'https://hooks.example.com:22' }, ['/endPointUrl']],
    ['endPointUrl is a private address', { ...valid, endPointUrl: 'https://0x7f000001/' }, ['/endPointUrl']],
    ['endPointUrl is a local name', { ...valid, endPointUrl: 'https://redis.internal' }, ['/endPointUrl']],
    ['endPointUrl is too long', { ...valid, endPointUrl: `https://e.example/${'a'.repeat(2_048)}` }, ['/endPointUrl']],
    ['endPointDesc is too long', { ...valid, endPointDesc: 'd'.repeat(1_001) }, ['/endPointDesc']],
    ['endPointName is too long', { ...valid, endPointName: 'n'.repeat(201) }, ['/endPointName']],
    ['there is no credential', base, ['']],
    ['there are two credentials', { ...valid, jwt: 'second-one' }, ['']],
    ['password is missing', { ...base, userName: 'u' }, ['/password']],
    ['userName is missing', { ...base, password: 'the-password' }, ['/userName']],
    ['a credential has a line break', { ...base, apiKey: 'a\r\nb: the-api-key' }, ['/apiKey']],
    ['a userName has a colon', { ...base, userName: 'a:b', password: 'p' }, ['/userName']],
    [
      'several members are',
      { ...base, eventType: 1, endPointName: 2, jwt: '' },
      ['/eventType', '/endPointName', '/jwt'],
    ],
    ['the body is no object', ['task.created'], ['']],
    ['there is a name twice', '{"eventType":"task.created","eventType":"task.created"}', [expect.any(String)]],
    ['the body is no JSON', '{"eventType":', [expect.any(String)]],
  ])('is named when %s, by register and update, and nothing is stored', async (_, body, pointers) => {
    await registered({ ...valid, endPointUrl: 'https://stays.example' });
    const before = await app.stored();
    for (const method of ['POST', 'PUT']) {
      const answer = await ask(method, body);
      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(pointersIn(answer)).toEqual(pointers);
      expect(answer.text).not.toMatch(/the-api-key|second-one|the-password/);
    }
    expect(await app.stored()).toBe(before);
  });

  it('says how many event types there are, and which route lists them', async () => {
    const { text } = await ask('DELETE', { eventType: 'task' });
    expect(text).toContain('task is no event type. GET /event-types lists the 21 of this relay.');
  });

  it.each([
    ['DELETE', { id: unknownId }, ['/eventType']],
    ['DELETE', { eventType: 'task.created', id: 'x' }, ['/id']],
    ['DELETE', { eventType: 'task.created', id: null }, ['/id']],
    ['PUT', { ...valid, id: 5 }, ['/id']],
    ['GET', { apiKey: 'a', jwt: 'b' }, ['']],
    ['GET', { userName: 'a' }, ['/password']],
    ['GET', { jwt: 1 }, ['/jwt']],
    ['GET', [], ['']],
  ])('is named by %s of %j', async (method, body, pointers) => {
    await registered();
    const answer = await ask(method, body);
    expect(answer.status).toBe(400);
    expect(pointersIn(answer)).toEqual(pointers);
    expect(await list()).toHaveLength(1);
  });

  it.each(['POST', 'PUT', 'DELETE'])('is a %s without a body, of another type, or too long', async (method) => {
    const before = await app.stored();
    const { token } = partner;
    const text = JSON.stringify(valid);
    expect(await ask(method)).toMatchObject({ status: 400 });
    const typed = await app.ask(method, '/webhooks', { token, body: text, headers: { 'content-type': 'text/plain' } });
    expect(typed.status).toBe(415);
    expect((await ask(method, { ...valid, x: 'x'.repeat(65_536) })).status).toBe(413);
    expect(await app.stored()).toBe(before);
  });
});

describe('update', () => {
  it('replaces all attributes of the only webhook of its event type', async () => {
    const id = await registered({ ...valid, endPointDesc: 'd', endPointName: 'n' });
    await registered({ ...valid, eventType: 'plan.created' });
    await registered(valid, other);
    const before = await list(other);
    const answer = await ask('PUT', { ...base, endPointUrl: 'https://new.example/b', userName: 'u', password: 'p' });
    expect(answer).toMatchObject({ status: 200, text: JSON.stringify({ id }) });
    expect(await list()).toMatchObject([record(id, { endPointUrl: 'https://new.example/b' }), {}]);
    expect(await list(other)).toEqual(before);
    await registered();
  });

  it('means the id given, in either letter case', async () => {
    const id = await registered();
    const second = await registered({ ...valid, endPointUrl: 'https://second.example' });
    const answer = await ask('PUT', {
      ...valid,
      endPointName: 'changed',
      id: second.toUpperCase(),
      endPointUrl: 'https://s.example',
    });
    expect(answer).toMatchObject({ status: 200, json: { id: second } });
    expect(await list()).toEqual([
      record(id),
      record(second, { endPointUrl: 'https://s.example', endPointName: 'changed' }),
    ]);
  });

  it('answers 409 with the ids when there are several, and changes nothing', async () => {
    const ids = [await registered(), await registered({ ...valid, endPointUrl: 'https://second.example' })];
    const before = await app.stored();
    expect(await ask('PUT', { ...valid, endPointUrl: 'https://x.example' })).toMatchObject({
      status: 409,
      json: { ids },
    });
    expect(await ask('DELETE', { eventType: 'task.created' })).toMatchObject({ status: 409, json: { ids } });
    expect(await app.stored()).toBe(before);
  });

  it('answers 409 with the id that has the URL already, and changes nothing', async () => {
    const id = await registered();
    const second = await registered({ ...valid, endPointUrl: 'https://second.example' });
    const before = await app.stored();
    expect(await ask('PUT', { ...valid, id: second })).toMatchObject({ status: 409, json: { id } });
    expect(await app.stored()).toBe(before);
  });

  it('applies every one of 200 at once', async () => {
    const id = await registered();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => ask('PUT', { ...valid, endPointName: `n${n}`, endPointDesc: `n${n}` })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set([`200 {"id":"${id}"}`]));
    const stored = Stored.parse(JSON.parse((await app.redis.hget('{relay:0}:webhooks', id)) ?? 'null'));
    expect(stored.endPointName).toBe(stored.endPointDesc);
    expect(stored.version - stored.sequence).toBe(200);
  });
});

describe('delete', () => {
  it('ends the webhook of that id, or the only one of its event type', async () => {
    const [a, b] = [await registered(), await registered({ ...valid, endPointUrl: 'https://second.example' })];
    const left = await registered({ ...valid, eventType: 'plan.created' });
    const first = await ask('DELETE', { eventType: 'task.created', id: a.toUpperCase() });
    expect(first).toMatchObject({ status: 200, text: JSON.stringify({ id: a }) });
    expect(await ask('DELETE', { eventType: 'task.created' })).toMatchObject({ status: 200, json: { id: b } });
    expect(await ask('DELETE', { eventType: 'task.created' })).toMatchObject({ status: 404 });
    expect(await list()).toEqual([record(left, { eventType: 'plan.created' })]);
  });
});

describe('a webhook that is not there', () => {
  it('is the same 404 as another partner’s or one of another event type, and nothing changes', async () => {
    const foreign = await registered(valid, other);
    const own = await registered({ ...valid, eventType: 'plan.created' });
    const before = await app.stored();
    for (const method of ['PUT', 'DELETE'])
      for (const id of [unknownId, foreign, own, undefined]) {
        const answer = await ask(method, { ...valid, ...(id === undefined ? {} : { id }) });
        expect(answer).toMatchObject({
          status: 404,
          json: { detail: 'You have no such webhook: GET /webhooks lists yours.' },
        });
      }
    expect(await app.stored()).toBe(before);
    expect(await list(other)).toHaveLength(1);
  });
});

describe('the signing secret', () => {
  it('is shown to the owner only, and stays through updates', async () => {
    const id = await registered();
    const answer = await ask('GET', undefined, partner, `/webhooks/${id.toUpperCase()}/secret`);
    expect(answer).toMatchObject({
      status: 200,
      json: { secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) },
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    await ask('PUT', { ...valid, jwt: undefined, endPointName: 'x' });
    expect((await ask('GET', undefined, partner, `/webhooks/${id}/secret`)).text).toBe(answer.text);
    for (const [by, path] of [
      [other, id],
      [partner, unknownId],
      [partner, 'x'],
    ] as const)
      expect(await ask('GET', undefined, by, `/webhooks/${path}/secret`)).toMatchObject({
        status: 404,
        json: { detail: 'You have no such webhook: GET /webhooks lists yours.' },
      });
  });
});
