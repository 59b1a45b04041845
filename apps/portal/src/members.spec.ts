import { membersOf } from './members.js';

const lines = (schema: Record<string, unknown>): string[] =>
  membersOf(schema).map(({ pointer, type, isRequired, description }) =>
    [pointer, type, isRequired ? 'required' : '', description].filter(Boolean).join(' '),
  );

it('membersOf names each member of a payload by its pointer, before those inside it', () => {
  expect(
    lines({
      type: 'object',
      required: ['id', 'lines'],
      properties: {
        id: { type: 'string', format: 'uuid', description: 'Of the order.' },
        state: { enum: ['open', 'paid'] },
        note: { type: ['string', 'null'], title: 'A note' },
        'a/b': true,
        tags: { type: 'array', items: { type: 'string' } },
        lines: {
          type: 'array',
          items: { required: ['sku'], properties: { sku: { type: 'string' }, count: { type: 'integer' } } },
        },
        labels: { type: 'object', additionalProperties: { properties: { text: { type: 'string' } } } },
      },
    }),
  ).toEqual([
    '/id string (uuid) required Of the order.',
    '/state "open" or "paid"',
    '/note string or null A note',
    '/a~1b any',
    '/tags array of string',
    '/lines array of object required',
    '/lines/*/sku string required',
    '/lines/*/count integer',
    '/labels object',
    '/labels/*/text string',
  ]);
});

it('membersOf follows references, allOf and alternatives, whose members are optional, and ends in a recursive schema', () => {
  expect(
    lines({
      $ref: '#/$defs/order',
      oneOf: [
        { required: ['card'], properties: { card: { type: 'string' } } },
        { properties: { iban: { const: 'x' } } },
      ],
      $defs: {
        order: { allOf: [{ required: ['total'], properties: { total: { type: 'number' }, parent: { $ref: '#' } } }] },
      },
    }),
  ).toEqual(['/total number required', '/parent object', '/card string', '/iban "x"']);
});

it.each([
  [
    'a list of itself',
    { properties: { all: { type: 'array', items: { $ref: '#/properties/all' } } } },
    ['/all array of array of array'],
  ],
  ['a reference that leads nowhere', { properties: { lost: { $ref: '#/$defs/none' } } }, ['/lost any']],
  [
    'members that are no schemas',
    { properties: { x: 5, y: null, z: [] }, allOf: 'no', required: 7 },
    ['/x', '/y', '/z'],
  ],
  ['an empty schema', {}, []],
  [
    'a definition that contains itself',
    {
      properties: { friend: { $ref: '#/definitions/person' } },
      definitions: { person: { properties: { mother: { $ref: '#/definitions/person' } } } },
    },
    ['/friend object', '/friend/mother object'],
  ],
  [
    'the schema of any JSON',
    {
      anyOf: [{ type: 'number' }, { type: 'array', items: { $ref: '#' } }, { additionalProperties: { $ref: '#' } }],
    },
    [],
  ],
])('membersOf takes %s', (_name, schema, expected) => {
  const found = lines(schema);
  expect(found).toHaveLength(expected.length);
  expect(found.every((line, index) => line.startsWith(expected[index] ?? '?'))).toBe(true);
});

it('membersOf ends after as many members as a page shows', () => {
  const properties = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`m${index}`, { type: 'string' }]));
  expect(membersOf({ properties })).toHaveLength(500);
});
