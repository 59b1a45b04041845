import { z } from 'zod';
import { EVENT_TYPES, Envelope, readEnvelope } from './index.js';
import type { AcceptedEnvelope, EnvelopeResult } from './index.js';

const ID = '6f1c1c1e-8d1b-4c0b-9b1e-0a8a7c1f2d3e';
const TASK = { id: ID.replace('6', '7'), userId: ID.replace('6', '8'), financialPlanId: ID.replace('6', '9') };

const read = (value: unknown, audience: string[] = []): EnvelopeResult =>
  readEnvelope(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), audience);

function accepted(value: unknown, audience: string[] = []): AcceptedEnvelope {
  const result = read(value, audience);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.envelope;
}

const hashOf = (text: string, audience: string[] = []): string => accepted(text, audience).contentHash;

describe('readEnvelope accepts', () => {
  it.each(EVENT_TYPES)('%s', (type) => {
    const payload = type.startsWith('task.') ? { ...TASK, title: 'x' } : { anything: [1] };
    expect(accepted({ id: ID, type, payload })).toMatchObject({ id: ID, type, audience: [] });
  });

  it('the received bytes untouched, also as a view', () => {
    const text = `\n{"type":"plan.created", "payload":{"n":1.10,"b":12345678901234567890,"e":1e400},"id":"${ID}"}\t`;
    const bytes = Buffer.from(text);
    const fromBuffer = readEnvelope(bytes, []);
    const fromView = readEnvelope(new Uint8Array(Buffer.from(`xx${text}`)).subarray(2), []);
    expect(fromBuffer).toEqual(fromView);
    expect(fromBuffer.ok && fromBuffer.envelope.bytes).toBe(bytes);
    expect(bytes.toString()).toBe(text);
  });

  it('ids of any version in either letter case', () => {
    const id = 'FFFFFFFF-FFFF-0FFF-FFFF-ABCDEFABCDEF';
    const payload = { ...TASK, id };
    expect(accepted({ id, type: 'task.updated', payload })).toMatchObject({
      id: id.toLowerCase(),
      key: id.toLowerCase(),
    });
  });
});

describe('key', () => {
  it.each([
    [{ id: TASK.id.toUpperCase() }, TASK.id],
    [{ id: 'plan 7' }, ID],
    [{ id: 7 }, ID],
    [{}, ID],
    [{ planId: TASK.id }, ID],
  ])('for payload %j is %s', (payload, key) => {
    expect(accepted({ id: ID.toUpperCase(), type: 'plan.created', payload }).key).toBe(key);
  });
});

describe('audience', () => {
  it('is sorted and without repetition, and leaves the given list alone', () => {
    const given = Object.freeze(['b', 'C', 'a', 'b']);
    const result = readEnvelope(Buffer.from(`{"id":"${ID}","type":"plan.created","payload":{}}`), given);
    expect(result).toMatchObject({ ok: true, envelope: { audience: ['C', 'a', 'b'] } });
  });
});

describe('contentHash', () => {
  const base = `{"id":"${ID}","type":"plan.created","payload":{"a":1.10,"b":"A"}}`;

  it('is the first 8 bytes of SHA-256 over canonical text, line feed and audience', () => {
    expect(hashOf(base)).toBe('9ccb3cbe966bd1c5');
    expect(hashOf(base, ['b', 'a'])).toBe('076aa6e01d3f7393');
  });

  it.each([
    ['white space', ` ${base.replaceAll(':', ' : ')}\n`],
    ['key order', `{"payload":{"b":"A","a":1.10},"type":"plan.created","id":"${ID}"}`],
    ['escapes', base.replace('"A"', String.raw`"\u0041"`).replace('"id"', String.raw`"\u0069d"`)],
    ['the letter case of its id', base.replace(ID, ID.toUpperCase())],
  ])('does not count %s', (_, text) => {
    expect(hashOf(text)).toBe(hashOf(base));
  });

  it('does not count order and repetition in the audience', () => {
    expect(hashOf(base, ['b', 'a', 'b'])).toBe(hashOf(base, ['a', 'b']));
  });

  it.each([
    ['the text of a number', base.replace('1.10', '1.1')],
    ['the type', base.replace('created', 'updated')],
    ['a value', base.replace('"A"', '"a"')],
    ['the id', base.replace(ID, TASK.id)],
    ['a member', base.replace('"b"', '"c"')],
  ])('counts %s', (_, text) => {
    expect(hashOf(text)).not.toBe(hashOf(base));
  });

  it('counts the audience', () => {
    expect(new Set([hashOf(base), hashOf(base, ['a']), hashOf(base, ['b']), hashOf(base, ['a', 'b'])]).size).toBe(4);
  });
});

describe('readEnvelope refuses', () => {
  const list = 'plan.filed is no event type. GET /event-types lists the 14 of this relay.';
  const none = 'The name of an event type is expected. GET /event-types lists the 14 of this relay.';
  const notObject = { pointer: '', detail: 'An envelope must be a JSON object.' };

  it.each([
    [{ type: 'plan.created', payload: {} }, [['/id', 'id is missing: it must be a UUID.']]],
    [{ id: 7, type: 'plan.created', payload: {} }, [['/id', 'id must be a UUID.']]],
    [{ id: `${ID}\n`, type: 'plan.created', payload: {} }, [['/id', 'id must be a UUID.']]],
    [{ id: ID, type: 'plan.filed', payload: {} }, [['/type', list]]],
    [{ id: ID, payload: {} }, [['/type', none]]],
    [{ id: ID, type: ['plan.created'], payload: {} }, [['/type', none]]],
    [{ id: ID, type: 'plan.created' }, [['/payload', 'payload must be a JSON object.']]],
    [{ id: ID, type: 'plan.created', payload: null }, [['/payload', 'payload must be a JSON object.']]],
    [{ id: ID, type: 'plan.created', payload: [] }, [['/payload', 'payload must be a JSON object.']]],
    [{ id: ID, type: 'task.created', payload: 'x' }, [['/payload', 'payload must be a JSON object.']]],
    [
      { id: ID, type: 'task.deleted', payload: { id: ID, userId: 'x' } },
      [
        ['/payload/userId', 'payload.userId must be a UUID.'],
        ['/payload/financialPlanId', 'payload.financialPlanId is missing: it must be a UUID.'],
      ],
    ],
    [
      { id: ID, type: 'plan.created', payload: {}, 'a/b': 1, toString: 2 },
      [
        ['/a~1b', '"a/b" is no member of an envelope: it has id, type and payload only.'],
        ['/toString', '"toString" is no member of an envelope: it has id, type and payload only.'],
      ],
    ],
    [
      `{"id":"${ID}","type":"plan.created","payload":{},"__proto__":{}}`,
      [['/__proto__', '"__proto__" is no member of an envelope: it has id, type and payload only.']],
    ],
    [
      { id: 'x', type: 'x', extra: 1 },
      [
        ['/id', 'id must be a UUID.'],
        ['/type', 'x is no event type. GET /event-types lists the 14 of this relay.'],
        ['/payload', 'payload must be a JSON object.'],
        ['/extra', '"extra" is no member of an envelope: it has id, type and payload only.'],
      ],
    ],
  ])('%j', (value, errors) => {
    const expected = errors.map(([pointer, detail]) => ({ pointer, detail }));
    expect(read(value)).toEqual({ ok: false, fault: 'invalid', errors: expected });
  });

  it.each(['null', '7', '"x"', '[]', '[{}]', 'true'])('%s, which is no object', (text) => {
    expect(read(text)).toEqual({ ok: false, fault: 'invalid', errors: [notObject] });
  });

  it('bytes that are no JSON, and says so', () => {
    expect(read('{"id":')).toEqual({
      ok: false,
      errors: [{ pointer: '/id', detail: 'The text ends where a JSON value should be at byte 6.' }],
      fault: 'malformed',
    });
  });

  it('a task whose ids are only in its prototype', () => {
    const text = `{"id":"${ID}","type":"task.created","payload":{"__proto__":${JSON.stringify(TASK)}}}`;
    expect(read(text)).toMatchObject({ ok: false, errors: [{}, {}, {}] });
  });

  it('a thousand members too many without listing them all', () => {
    const members = Array.from({ length: 1_000 }, (_, at) => [`m${at}`, at]);
    const result = read(Object.fromEntries(members));
    expect(result.ok ? [] : result.errors).toHaveLength(20);
  });
});

describe('Envelope', () => {
  it('becomes a JSON Schema with the 14 types and the named payload of tasks', () => {
    const schema = JSON.stringify(z.toJSONSchema(Envelope));
    expect(EVENT_TYPES.filter((type) => !schema.includes(`"${type}"`))).toEqual([]);
    expect(schema).toContain('"TaskPayload"');
    expect(schema).toContain('"required":["id","userId","financialPlanId"]');
  });
});
