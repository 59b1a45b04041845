import { EVENT_TYPES } from '@relay/events';
import { credentialOf, DeleteInput, ListInput, WebhookInput, WebhookUpdate } from './index.js';

const base = { eventType: 'task.created', endPointUrl: 'https://hooks.example.com/a' };
const valid = { ...base, apiKey: 'k-1' };

const faultsOf = (schema: typeof WebhookInput | typeof ListInput | typeof DeleteInput, value: unknown): string[] => {
  const result = schema.safeParse(value);
  return result.success ? [] : result.error.issues.map(({ path }) => path.join('/'));
};

describe('WebhookInput', () => {
  it.each(EVENT_TYPES)('takes %s', (eventType) => {
    expect(WebhookInput.parse({ ...valid, eventType }).eventType).toBe(eventType);
  });

  it('says how many event types there are when the one given is none of them', () => {
    const result = WebhookInput.safeParse({ ...valid, eventType: 'task.renamed' });
    expect(result.error?.issues[0]?.message).toBe(
      'task.renamed is no event type. GET /event-types lists the 21 of this relay.',
    );
  });

  it('ignores unknown attributes and reads null in the two texts as absent', () => {
    const input = WebhookInput.parse({ ...valid, endPointDesc: null, endPointName: null, colour: 'red' });
    expect(JSON.parse(JSON.stringify(input))).toEqual(valid);
  });

  it.each([
    [{ apiKey: 'a'.repeat(4_096) }, { kind: 'apiKey', apiKey: 'a'.repeat(4_096) }],
    [{ jwt: 'a.b.c' }, { kind: 'jwt', jwt: 'a.b.c' }],
    [
      { userName: 'jürgen', password: 'p:w ö' },
      { kind: 'basic', userName: 'jürgen', password: 'p:w ö' },
    ],
  ])('reads the credential of %j', (members, credential) => {
    expect(credentialOf(WebhookInput.parse({ ...base, ...members }))).toEqual(credential);
  });

  it.each([
    ['no eventType', { endPointUrl: base.endPointUrl, jwt: 'a' }, ['eventType']],
    ['no endPointUrl', { eventType: 'task.created', jwt: 'a' }, ['endPointUrl']],
    ['an empty endPointUrl', { ...valid, endPointUrl: '' }, ['endPointUrl']],
    ['a longer endPointUrl', { ...valid, endPointUrl: `https://e.example/${'a'.repeat(2_040)}` }, ['endPointUrl']],
    ['a longer endPointDesc', { ...valid, endPointDesc: 'd'.repeat(1_001) }, ['endPointDesc']],
    ['a longer endPointName', { ...valid, endPointName: 'n'.repeat(201) }, ['endPointName']],
    ['a number as endPointName', { ...valid, endPointName: 1 }, ['endPointName']],
    ['no credential', base, ['']],
    ['two credentials', { ...valid, jwt: 'a' }, ['']],
    ['a pair beside a key', { ...valid, userName: 'u', password: 'p' }, ['']],
    ['userName alone', { ...base, userName: 'u' }, ['password']],
    ['password alone', { ...base, password: 'p' }, ['userName']],
    ['password beside a key', { ...valid, password: 'p' }, ['userName']],
    ['null as apiKey', { ...base, apiKey: null }, ['apiKey']],
    ['an empty apiKey', { ...base, apiKey: '' }, ['apiKey']],
    ['a space in apiKey', { ...base, apiKey: 'a b' }, ['apiKey']],
    ['a line break in jwt', { ...base, jwt: 'a\r\nx: y' }, ['jwt']],
    ['a longer jwt', { ...base, jwt: 'a'.repeat(4_097) }, ['jwt']],
    ['a letter beyond ASCII in apiKey', { ...base, apiKey: 'ä' }, ['apiKey']],
    ['a colon in userName', { ...base, userName: 'a:b', password: 'p' }, ['userName']],
    ['a control character in userName', { ...base, userName: 'a\u0000', password: 'p' }, ['userName']],
    ['a control character in password', { ...base, userName: 'a', password: 'p\n' }, ['password']],
    [
      'all of it at once',
      { eventType: 1, endPointUrl: 2, endPointDesc: 3 },
      ['eventType', 'endPointUrl', 'endPointDesc', ''],
    ],
    ['no object', ['task.created'], ['']],
  ])('refuses %s and names the members', (_, value, members) => {
    expect(faultsOf(WebhookInput, value)).toEqual(members);
  });

  it.each([{ endPointDesc: 'd'.repeat(1_000) }, { endPointName: 'n'.repeat(200) }, { endPointName: '' }])(
    'takes the longest and the shortest texts',
    (members) => {
      expect(faultsOf(WebhookInput, { ...valid, ...members })).toEqual([]);
    },
  );
});

describe('WebhookUpdate and DeleteInput', () => {
  it('read an id in either letter case', () => {
    const id = 'B3F0C1DE-0000-4000-8000-00000000000A';
    expect(WebhookUpdate.parse({ ...valid, id }).id).toBe(id.toLowerCase());
    expect(DeleteInput.parse({ eventType: 'task.created', id }).id).toBe(id.toLowerCase());
  });

  it.each([
    [{ eventType: 'task.created', id: 'x' }, ['id']],
    [{ eventType: 'task.created', id: null }, ['id']],
    [{ id: 'b3f0c1de-0000-4000-8000-00000000000a' }, ['eventType']],
    [null, ['']],
  ])('refuse %j', (value, members) => {
    expect(faultsOf(DeleteInput, value)).toEqual(members);
  });
});

describe('ListInput', () => {
  it.each([[{}], [{ eventType: 'anything' }], [{ jwt: 'a' }], [{ userName: 'u', password: 'p' }]])(
    'takes %j',
    (value) => {
      expect(faultsOf(ListInput, value)).toEqual([]);
    },
  );

  it.each([
    [{ jwt: 'a', apiKey: 'b' }, ['']],
    [{ userName: 'u' }, ['password']],
    [{ password: 'p' }, ['userName']],
    [{ jwt: 1 }, ['jwt']],
  ])('refuses %j', (value, members) => {
    expect(faultsOf(ListInput, value)).toEqual(members);
  });
});
