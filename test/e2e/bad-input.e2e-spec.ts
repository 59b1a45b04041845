import { randomUUID } from 'node:crypto';
import { EVENT_TYPES } from '@relay/events';
import { App } from '../support/app.js';
import { anEnvelope, call, Client, type Answer, type Registration } from '../support/client.js';
import { Stack } from '../support/stack.js';

let stack: Stack;
let ingress: App;
let source: Client;
let partner: Client;
let stranger: Client;
let webhook = '';
const OWNED = { eventType: 'plan.created', endPointUrl: 'https://example.com/hook', apiKey: 'key' };

beforeAll(async () => {
  stack = await Stack.open();
  ingress = await App.start('ingress', stack.env);
  const client = async (...args: string[]): Promise<Client> => {
    const { clientId, clientSecret } = (await stack.relay(...args)) as { clientId: string; clientSecret: string };
    return new Client(ingress.url, clientId, clientSecret);
  };
  [source, partner, stranger] = await Promise.all([
    client('admin', 'clients', 'create', 'source', 'billing'),
    client('admin', 'clients', 'create', 'partner', 'acme'),
    client('admin', 'clients', 'create', 'partner', 'stranger'),
  ]);
  webhook = await partner.register(OWNED);
});
afterAll(async () => {
  await ingress.stop();
  await stack.close();
});

const INSIDES = /node_modules|\bat \w+ \(|\.[jt]s\b|nestjs|fastify|zod|ioredis|kafkajs/i;

/** What a problem says, and whatever of that which every problem has is missing in this one. */
function problemOf({ status, headers, json, text: whole }: Answer): object {
  const { type, title, detail, instance, requestId, status: told } = json as Readonly<Record<string, unknown>>;
  const errors = (json['errors'] ?? []) as unknown as { pointer: string; detail: string }[];
  const rules = {
    'content type': headers.get('content-type')?.startsWith('application/problem+json') === true,
    title: typeof title === 'string' && title !== '',
    detail: typeof detail === 'string' && detail !== '' && errors.every((error) => error.detail !== ''),
    instance: typeof instance === 'string' && instance.startsWith('/'),
    requestId: typeof requestId === 'string' && requestId === headers.get('x-request-id'),
    status: Number(told) === status,
    challenge: status !== 401 || /^(Bearer|Basic) realm=/.test(headers.get('www-authenticate') ?? ''),
    allow: status !== 405 || /\b(GET|POST)\b/.test(headers.get('allow') ?? ''),
    discretion: !INSIDES.test(whole),
  };
  return {
    status,
    code: String(type).split('#')[1],
    pointers: errors.map(({ pointer }) => pointer).toSorted(),
    breaks: Object.entries(rules).flatMap(([rule, isKept]) => (isKept ? [] : [rule])),
  };
}

type Expected = readonly [status: number, code: string, pointers?: readonly string[]];

const problem = ([status, code, pointers]: Expected): object => ({
  status,
  code,
  pointers: pointers?.toSorted() ?? expect.any(Array),
  breaks: [],
});

const text = (change: object, drop: string[] = []) => {
  const whole = { ...anEnvelope(), ...change };
  return JSON.stringify(Object.fromEntries(Object.entries(whole).filter(([name]) => !drop.includes(name))));
};
const aTask = (change: object) => text({ payload: { ...anEnvelope().payload, ...change } });
const deep = `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`;
const [malformed, invalid] = ['malformed-json', 'invalid-body'] as const;

describe('an envelope', () => {
  it.each<[string, string | Buffer | undefined, Expected]>([
    ['none', undefined, [400, invalid]],
    ['half an object', '{"id":', [400, malformed]],
    ['a trailing comma', text({}).replace(/}$/, ',}'), [400, malformed]],
    ['invalid UTF-8', Buffer.from(text({}).replace('task', 't\xe4sk'), 'latin1'), [400, malformed]],
    ['a name twice', text({}).replace('{', '{"type":"task.created",'), [400, malformed, ['/type']]],
    ['half a surrogate pair', aTask({ note: '?' }).replace('?', '\\ud800'), [400, malformed, ['/payload/note']]],
    ['too many levels', text({}).replace('"payload":{', `"payload":{"deep":${deep},`), [400, malformed]],
    ['an array', `[${text({})}]`, [400, invalid, ['']]],
    ['no id', text({}, ['id']), [400, invalid, ['/id']]],
    ['an id that is no UUID', text({ id: '42' }), [400, invalid, ['/id']]],
    ['no type', text({}, ['type']), [400, invalid, ['/type']]],
    ['an unknown type', text({ type: 'task.exploded' }), [400, invalid, ['/type']]],
    ['a type in capitals', text({ type: 'Task.Created' }), [400, invalid, ['/type']]],
    ['no payload', text({}, ['payload']), [400, invalid, ['/payload']]],
    ['a payload that is no object', text({ payload: [] }), [400, invalid, ['/payload']]],
    ['a task without a user', aTask({ userId: undefined }), [400, invalid, ['/payload/userId']]],
    ['a task of no plan', aTask({ financialPlanId: 7 }), [400, invalid, ['/payload/financialPlanId']]],
    ['a further member', text({ 'a/b~c': 1 }), [400, invalid, ['/a~1b~0c']]],
    ['three faults', text({ id: 1, payload: 1, more: 1 }), [400, invalid, ['/id', '/payload', '/more']]],
    ['more than 256 KiB', aTask({ note: 'x'.repeat(256 * 1024) }), [413, 'payload-too-large']],
  ])('with %s is refused', async (_, body, expected) => {
    expect(problemOf(await source.post(body))).toEqual(problem(expected));
  });

  it('with an unknown type names it, and the route that lists the 14 types', async () => {
    const answer = await source.post(text({ type: 'task.exploded' }));
    expect(answer.text).toContain('task.exploded is no event type. GET /event-types lists the 14 of this relay.');
  });

  it.each<[string, Record<string, string>, Expected]>([
    ['another content type', { 'content-type': 'text/plain' }, [415, 'unsupported-media-type']],
    ['a content encoding', { 'content-encoding': 'gzip' }, [415, 'unsupported-media-type']],
    ['no partner in relay-partner', { 'relay-partner': 'a,,b' }, [400, 'invalid-request']],
    ['a token that is none', { authorization: 'Bearer abc' }, [401, 'unauthorized']],
    ['an unknown API key', { 'x-api-key': 'abc' }, [401, 'unauthorized']],
    ['an unknown user', { authorization: `Basic ${btoa('a:b')}` }, [401, 'unauthorized']],
    ['no credential', { authorization: '' }, [401, 'unauthorized']],
  ])('with %s is refused', async (_, headers, expected) => {
    expect(problemOf(await source.post(text({}), headers))).toEqual(problem(expected));
  });

  it('from a partner is refused', async () => {
    expect(problemOf(await partner.post(text({})))).toEqual(problem([403, 'insufficient-scope']));
  });
});

describe('a registration', () => {
  const valid: Registration = { eventType: 'plan.updated', endPointUrl: 'https://example.com/', apiKey: 'key' };

  it.each<[string, unknown, Expected]>([
    ['no body', undefined, [400, invalid]],
    ['malformed JSON', '{"eventType"', [400, malformed]],
    ['no object', '7', [400, invalid, ['']]],
    ['an unknown event type', { ...valid, eventType: 'plan.exploded' }, [400, invalid, ['/eventType']]],
    ['no URL', { ...valid, endPointUrl: undefined }, [400, invalid, ['/endPointUrl']]],
    ['a URL that is none', { ...valid, endPointUrl: 'example' }, [400, invalid, ['/endPointUrl']]],
    ['another scheme', { ...valid, endPointUrl: 'ftp://example.com/' }, [400, invalid, ['/endPointUrl']]],
    ['a user in the URL', { ...valid, endPointUrl: 'https://a:b@example.com/' }, [400, invalid, ['/endPointUrl']]],
    ['a private address', { ...valid, endPointUrl: 'https://10.0.0.1/' }, [400, invalid, ['/endPointUrl']]],
    ['an address of the cloud', { ...valid, endPointUrl: 'http://169.254.169.254/' }, [400, invalid, ['/endPointUrl']]],
    ['no credential', { ...valid, apiKey: undefined }, [400, invalid, ['']]],
    ['two credentials', { ...valid, jwt: 'a.b.c' }, [400, invalid, ['']]],
    ['a user without password', { ...valid, apiKey: undefined, userName: 'a' }, [400, invalid, ['/password']]],
    ['a password without user', { ...valid, apiKey: undefined, password: 'a' }, [400, invalid, ['/userName']]],
    ['a line break in a key', { ...valid, apiKey: 'a\r\nb: c' }, [400, invalid, ['/apiKey']]],
    [
      'a colon in a user',
      { ...valid, apiKey: undefined, userName: 'a:b', password: 'c' },
      [400, invalid, ['/userName']],
    ],
    ['a name that is no text', { ...valid, endPointName: 7 }, [400, invalid, ['/endPointName']]],
    ['two faults', { ...valid, eventType: 1, apiKey: '' }, [400, invalid, ['/eventType', '/apiKey']]],
    ['more than 64 KiB', { ...valid, endPointDesc: 'x'.repeat(64 * 1024) }, [413, 'payload-too-large']],
    ['what is registered already', OWNED, [409, 'conflict']],
  ])('with %s is refused', async (_, body, expected) => {
    expect(problemOf(await partner.request('POST', '/webhooks', body))).toEqual(problem(expected));
  });

  it('is refused with another content type', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(problemOf(await partner.request('POST', '/webhooks', 'a=b', headers))).toEqual(
      problem([415, 'unsupported-media-type']),
    );
  });

  it('by a source or by nobody is refused', async () => {
    expect(problemOf(await source.request('POST', '/webhooks', valid))).toEqual(problem([403, 'insufficient-scope']));
    expect(problemOf(await call('POST', `${ingress.url}/webhooks`, { body: valid }))).toEqual(
      problem([401, 'unauthorized']),
    );
  });
});

describe("another partner's webhook", () => {
  const [eventType, endPointUrl, apiKey] = [OWNED.eventType, 'https://example.com/stolen', 'stolen'];

  it.each<[string, string, () => string, () => unknown]>([
    ['is not updated', 'PUT', () => '/webhooks', () => ({ id: webhook, eventType, endPointUrl, apiKey })],
    ['is not updated without its id', 'PUT', () => '/webhooks', () => ({ eventType, endPointUrl, apiKey })],
    ['is not deleted', 'DELETE', () => '/webhooks', () => ({ id: webhook, eventType })],
    ['is not deleted without its id', 'DELETE', () => '/webhooks', () => ({ eventType })],
    ['does not show its secret', 'GET', () => `/webhooks/${webhook}/secret`, () => undefined],
  ])('%s: it is not found, like one that does not exist', async (_, method, path, body) => {
    expect(problemOf(await stranger.request(method, path(), body()))).toEqual(problem([404, 'not-found', []]));
    expect((await stranger.request('GET', '/webhooks')).json).toEqual([]);
  });
});

describe('any request', () => {
  it.each<[string, string, string, unknown, Expected]>([
    ['to an unknown path', 'GET', '/webhook', undefined, [404, 'not-found']],
    ['of a method that the path has not', 'PATCH', '/webhooks', {}, [405, 'method-not-allowed']],
    ['that lists an unknown event type', 'GET', '/webhooks?eventType=nope', undefined, [400, 'invalid-request']],
    ['that lists none', 'GET', '/webhooks?limit=0', undefined, [400, 'invalid-request']],
    ['that deletes by no UUID', 'DELETE', '/webhooks', { ...OWNED, id: '1' }, [400, invalid, ['/id']]],
    ['that deletes what does not exist', 'DELETE', '/webhooks', { ...OWNED, id: randomUUID() }, [404, 'not-found']],
    [
      'that changes an event type',
      'PUT',
      '/webhooks',
      () => ({ ...OWNED, id: webhook, eventType: 'plan.updated' }),
      [404, 'not-found'],
    ],
  ])('%s is refused', async (_, method, path, body, expected) => {
    const answer = await partner.request(method, path, typeof body === 'function' ? (body as () => unknown)() : body);
    expect(problemOf(answer)).toEqual(problem(expected));
  });

  // Runs last: nothing of all the above has left a trace.
  it('that is refused stores and publishes nothing', async () => {
    const { apiKey: _, ...shown } = OWNED;
    const expected = [{ id: webhook, ...shown, endPointDesc: null, endPointName: null }];
    expect((await partner.request('GET', '/webhooks')).json).toEqual(expected);
    expect((await stranger.request('GET', '/webhooks')).json).toEqual([]);
    const counts = EVENT_TYPES.flatMap((type) => [type, `${type}.dlq`]).map((name) => stack.topic(name).count());
    expect(new Set(await Promise.all(counts))).toEqual(new Set([0]));
    expect(ingress.log.filter((line) => /"level":(50|60)/.test(line))).toEqual([]);
  });
});
