import { z } from 'zod';
import { compilePayloadSchema, readPayloadSchema, sampleOf } from './payload-schema.js';

const refusals = (schema: object): string[] => {
  const read = readPayloadSchema(schema as never);
  return read.ok ? [] : read.faults.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
};
const nested = (levels: number): object => (levels === 0 ? {} : { properties: { a: nested(levels - 1) } });
const doubled = Object.fromEntries(
  Array.from({ length: 30 }, (_, n) => [
    `a${n + 1}`,
    { allOf: [{ $ref: `#/$defs/a${n}` }, { $ref: `#/$defs/a${n}` }] },
  ]),
);

describe('readPayloadSchema refuses', () => {
  it.each<[object, string | RegExp]>([
    [{ properties: { a: 5 } }, '/properties/a a schema is an object, true or false.'],
    [{ description: 'x'.repeat(70_000) }, 'a schema has at most 64 KiB.'],
    [nested(17), /a schema has at most 32 levels\.$/],
    [{ $schema: 'http://json-schema.org/draft-07/schema#' }, /^\/\$schema the draft must be/],
    [
      { $ref: 'https://elsewhere.example/a.json' },
      '/$ref a reference begins with #: the relay fetches no other document.',
    ],
    [{ $ref: '#/$defs/none' }, '/$ref "#/$defs/none" leads to no schema.'],
    [{ items: { $dynamicRef: '#a' } }, '/items/$dynamicRef $dynamicRef is not supported: use $ref.'],
    [{ type: 'array', uniqueItems: true }, '/uniqueItems uniqueItems needs maxItems of at most 256 beside it.'],
    [
      JSON.parse('{"properties":{"__proto__":{}}}'),
      '/properties/__proto__ a member named __proto__ cannot be checked.',
    ],
    [{ pattern: '(a)\\1' }, '/pattern "(a)\\\\1" is no pattern that is matched in linear time (RE2).'],
    [{ patternProperties: { '(?=a)': {} } }, /^\/patternProperties\/\(\?=a\) ".*" is no pattern/],
    [{ type: 'text' }, /^the schema cannot be compiled: /],
    [{ allOf: [{ $ref: '#' }] }, /a reference leads back to itself at the same value\.$/],
    [{ $defs: { a0: { type: 'string' }, ...doubled }, $ref: '#/$defs/a30' }, /^more than 100 rules apply to one value/],
    [{ pattern: '\\pL{1,200}' }, /^more than 100 rules/],
    [{ items: { allOf: Array.from({ length: 200 }, () => ({ minimum: 1 })) } }, /^more than 100 rules/],
    [{ properties: { a: { $ref: '#' } }, patternProperties: { '^a': { $ref: '#' } } }, /two recursive references/],
    [
      { allOf: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' } } }] },
      /two recursive references/,
    ],
    [{ properties: { a: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } }, /two recursive references/],
  ])('%j', (schema, expected) => {
    const found = refusals(schema).join('\n');
    expect(typeof expected === 'string' ? found === expected : expected.test(found)).toBe(true);
  });

  it('every fault of a schema at once', () => {
    expect(refusals({ properties: { a: { pattern: '(' }, b: { $ref: 'x' }, c: { uniqueItems: true } } })).toHaveLength(
      3,
    );
  });
});

describe('readPayloadSchema accepts', () => {
  it.each<[string, object, string[]]>([
    ['what OpenAPI adds', { type: 'object', nullable: true, example: {}, xml: {} }, ['nullable', 'example', 'xml']],
    ['a format that nothing checks', { type: 'string', format: 'ipv4' }, ['format ipv4']],
    ['a tree', { $defs: { n: { properties: { sub: { items: { $ref: '#/$defs/n' } } } } }, $ref: '#/$defs/n' }, []],
    ['an anchor', { $defs: { a: { $anchor: 'x', type: 'string' } }, properties: { y: { $ref: '#x' } } }, []],
    ['a name with a slash', { $defs: { 'a/b~c': {} }, properties: { y: { $ref: '#/$defs/a~1b~0c' } } }, []],
    ['boolean schemas', { properties: { a: true, b: false } }, []],
    ['what zod makes', z.toJSONSchema(z.object({ id: z.guid(), at: z.iso.datetime(), n: z.int().min(0) })), []],
    ['names of prototypes', { required: ['constructor'], properties: { toString: {} } }, []],
    ['a wide object', { properties: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`m${n}`, {}])) }, []],
  ])('%s', (_, schema, unknown) => {
    expect(readPayloadSchema(schema as never)).toMatchObject({ ok: true, unknown });
  });
});

describe('a payload that breaks its schema', () => {
  it.each<[object, unknown, string]>([
    [{ properties: { n: { type: 'number' } } }, { n: 'secret' }, '/n "n" must be a number.'],
    [{ required: ['id'] }, {}, '/id "id" is missing.'],
    [{ required: ['toString'] }, {}, '/toString "toString" is missing.'],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, '/b "b" is missing: "a" needs it.'],
    [{ properties: { s: { enum: ['paid', 1] } } }, { s: 'secret' }, '/s "s" must be one of "paid", 1.'],
    [{ properties: { s: { const: 2 } } }, { s: 'secret' }, '/s "s" must be 2.'],
    [{ properties: { s: { format: 'uuid' } } }, { s: 'secret' }, '/s "s" is not of the format uuid.'],
    [
      { properties: { s: { format: 'date-time' } } },
      { s: '2026-13-01T00:00:00Z' },
      '/s "s" is not of the format date-time.',
    ],
    [{ properties: { s: { pattern: '^a+$' } } }, { s: 'secret' }, '/s "s" does not match ^a+$.'],
    [{ properties: { a: { items: { maximum: 5 } } } }, { a: [1, 9] }, '/a/1 "1" must be at most 5.'],
    [{ properties: {}, additionalProperties: false }, { x: 1 }, '/x "x" is no member of the schema.'],
    [{ properties: { l: { maxItems: 3, uniqueItems: true } } }, { l: [1, 1] }, '/l "l" has an item twice.'],
    [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, {}, 'The payload matches none of the alternatives.'],
    [{ type: ['string', 'null'] }, {}, 'The payload must be a text or null.'],
  ])('%j finds a fault in %j', (schema, payload, expected) => {
    expect(readPayloadSchema(schema as never)).toMatchObject({ ok: true });
    const faults = compilePayloadSchema(schema as never)(payload);
    expect(faults.map(({ pointer, detail }) => `${pointer} ${detail}`.trim())).toContain(expected);
    expect(JSON.stringify(faults)).not.toContain('secret');
  });

  it('has its first fault only when it is large, and at most 20 else', () => {
    const faultsOf = compilePayloadSchema({ items: { type: 'string' } });
    expect(faultsOf(Array.from({ length: 100 }, () => 1))).toHaveLength(20);
    expect(faultsOf(Array.from({ length: 20_000 }, () => 1))).toHaveLength(1);
  });
});

it.each(['toString', 'valueOf', 'constructor', '__proto__'])('a member %s is compared as any other', (name) => {
  const value = JSON.parse(`{"${name}":{"a":[1,null]}}`) as object;
  const other = JSON.parse(`{"${name}":{"a":[1,0]}}`) as object;
  const same: unknown = structuredClone(value);
  const schema = {
    properties: { e: { enum: [{}, value] }, c: { const: value }, l: { maxItems: 9, uniqueItems: true } },
  };
  const pointers = (payload: unknown) => compilePayloadSchema(schema)(payload).map(({ pointer }) => pointer);
  expect(pointers({ e: same, c: same, l: [value, other] })).toEqual([]);
  expect(pointers({ e: other, c: other, l: [value, same] })).toEqual(['/e', '/c', '/l']);
});

it('a pattern that backtracking makes slow for ever is matched in linear time', () => {
  const schema = { properties: { s: { pattern: '^(a+)+$' } } };
  expect(readPayloadSchema(schema)).toMatchObject({ ok: true });
  expect(compilePayloadSchema(schema)({ s: `${'a'.repeat(50_000)}!` })).toHaveLength(1);
});

it('a sample keeps to its schema, and there is none where a guess does not', () => {
  const schema = {
    type: 'object',
    required: ['id', 'at'],
    properties: { id: { type: 'string', format: 'uuid' }, at: { type: 'string', format: 'date-time' } },
  };
  expect(compilePayloadSchema(schema)(sampleOf(schema))).toEqual([]);
  expect(sampleOf({ required: ['a'], minProperties: 3 })).toBeUndefined();
});
