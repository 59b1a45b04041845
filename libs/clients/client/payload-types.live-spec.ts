import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { payloadTypes } from './payload-types.js';

const tsc = join(import.meta.dirname, '..', '..', '..', 'node_modules', 'typescript', 'bin', 'tsc');
const never = new AbortController().signal;

let server: Server;
let url: string;
/** Answers by path; a path without one is answered 404. */
let answers: Record<string, string>;
beforeAll(async () => {
  server = createServer((request, response) => {
    const text = answers[request.url ?? ''];
    // tsc blocks this process for longer than a connection is kept.
    response.writeHead(text === undefined ? 404 : 200, { connection: 'close' }).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/below/`;
});
afterAll(() => {
  server.close();
});

/** Serves the types in an order that tells nothing, under a public address that is not the one asked. */
function serve(types: readonly (readonly [name: string, schema: unknown, more?: object])[]): void {
  const schemas = types.map(([name, schema]) => [
    `/below/schemas/${name}/1.json`,
    typeof schema === 'string' ? schema : JSON.stringify(schema),
  ]);
  const eventTypes = types.toReversed().map(([name, schema, more]) => {
    const payloadSchema = schema === undefined ? null : `https://relay.example/schemas/${name}/1.json`;
    return Object.assign({ name, description: '', payloadSchema }, more);
  });
  answers = { ...Object.fromEntries(schemas), '/below/event-types': JSON.stringify({ eventTypes }) };
}

const SPECIAL = 'a"\\\u2028\u202e\n';
/** Every definition consists of the one before twice: 2^30 ways lead to the first. */
const DOUBLED = Object.fromEntries(
  Array.from({ length: 30 }, (_, n) => [
    [`a${n + 1}`, { allOf: [{ $ref: `#/$defs/a${n}` }, { $ref: `#/$defs/b${n}` }] }],
    [`b${n + 1}`, { allOf: [{ $ref: `#/$defs/a${n}` }, { $ref: `#/$defs/b${n}` }] }],
  ]).flat(),
);

const rows: readonly [schema: unknown, type: string][] = [
  [undefined, '{ [member: string]: unknown }'],
  [
    { type: 'object', required: ['a'], properties: { a: { type: 'string' }, b: { type: ['integer', 'null'] } } },
    '{ a: string; b?: number | null }',
  ],
  [
    { properties: { a: { enum: ['x', 1, null, true] }, b: { const: { c: ['"', 2], d: {} } } } },
    `{ a?: 'x' | 1 | null | true; b?: { c: ['"', 2]; d: { [member: string]: never } } }`,
  ],
  [{ properties: { a: { enum: [] }, b: false } }, '{ a?: never; b?: never }'],
  [{ properties: { a: { type: 'string', nullable: true } } }, '{ a?: string | null }'],
  [{ required: ['a', 'toString'] }, '{ a: unknown; toString: unknown }'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, '{ [member: string]: number }'],
  [{ type: 'object', additionalProperties: false }, '{ [member: string]: never }'],
  [
    { properties: { $schema: { type: 'string' } }, additionalProperties: { type: 'object' } },
    '{ $schema?: string; [member: string]: unknown }',
  ],
  [{ patternProperties: { '^a': { type: 'number' } } }, '{ [member: string]: unknown }'],
  [{ items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }, '(string | number)[]'],
  [{ type: 'array', prefixItems: [{ type: 'string' }, true], minItems: 1 }, '[string, unknown?, ...unknown[]]'],
  [{ prefixItems: [{ type: 'string' }], items: false }, '[string?]'],
  [
    {
      properties: { a: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { properties: { b: { const: 1 } } }],
      allOf: [{ properties: { c: { type: 'boolean' } } }, true],
    },
    '{ a?: string } & { c?: boolean } & ({ a: unknown } | { b?: 1 })',
  ],
  [
    {
      properties: { a: { $ref: '#/$defs/x~1y%20%7E0z' }, b: { $ref: '#' } },
      $defs: { 'x/y ~z': { type: 'string' } },
    },
    '{ a?: string; b?: Self }',
  ],
  [
    { properties: { a: { $ref: '#/$defs/none' }, b: { $ref: 'https://elsewhere.example/' }, c: { $ref: '#%' } } },
    '{ a?: unknown; b?: unknown; c?: unknown }',
  ],
  [
    '{"$defs":{"__proto__":{"const":1}},"properties":{"__proto__":{"$ref":"#/$defs/__proto__"},"constructor":{}}}',
    '{ ["__proto__"]?: 1; constructor?: unknown }',
  ],
  [
    {
      properties: {
        description: { description: 'It ends */ here\n@ts-nocheck\u2028/* \u202e' },
        new: { type: 'string' },
        readonly: { type: 'string' },
        get: { type: 'string' },
        '': { type: 'string' },
        '01': { type: 'string' },
        [SPECIAL]: { const: '\u2029`${x}\u202e' },
      },
    },
    `{ description?: unknown; new?: string; readonly?: string; get?: string; ''?: string; '01'?: string;
       'a"\\\\\\u2028\\u202e\\n'?: '\\u2029\`\${x}\\u202e' }`,
  ],
  [
    { description: 5, properties: 7, required: 'a', anyOf: {}, enum: 'x', items: [] },
    '{ [member: string]: unknown } | unknown[]',
  ],
  [
    '{"properties":{"a":{"enum":[1e999]},"b":{"enum":[-0,1e21,12345678901234567890]}}}',
    '{ a?: number; b?: 0 | 1e21 | 12345678901234567000 }',
  ],
  [{ type: 'constructor' }, 'unknown'],
  [{ $ref: '#' }, 'unknown'],
  [
    {
      properties: { a: { $ref: '#/$defs/l' } },
      $defs: { l: { anyOf: [{ type: 'null' }, { items: { $ref: '#/$defs/l' } }] } },
    },
    '{ a?: List }',
  ],
  [{ anyOf: [{ type: 'string' }, { $ref: '#/$defs/b' }], $defs: { b: { allOf: [{ $ref: '#' }] } } }, 'unknown'],
  [
    {
      $ref: '#/$defs/c',
      properties: { c: { $ref: '#/$defs/c' } },
      $defs: { c: { anyOf: [{ $ref: '#' }, { type: 'string' }] } },
    },
    '{ c?: unknown }',
  ],
  [{ $defs: { a0: { const: 1 }, b0: { const: 1 }, ...DOUBLED }, $ref: '#/$defs/a30' }, '1'],
];

/** Compiles the text with statements about it. @throws Error with what tsc prints */
function compile(text: string, statements: readonly string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'relay-types-'));
  try {
    writeFileSync(join(folder, 'events.ts'), text);
    const same = 'type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;';
    const head = [
      `import type { Envelope, EnvelopeOf, Payloads } from './events.js';`,
      'type List = null | List[];',
      same,
    ];
    writeFileSync(join(folder, 'use.ts'), [...head, ...statements].join('\n'));
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      types: [],
      module: 'nodenext',
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    execFileSync(process.execPath, [tsc, '--project', folder], { encoding: 'utf8' });
  } catch (error) {
    throw new Error(String((error as { stdout?: string }).stdout), { cause: error });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('payloadTypes', () => {
  it('makes types that compile under strict, and are those of the schemas', async () => {
    serve(rows.map(([schema], index) => [`t${index}`, schema] as const));
    const text = await payloadTypes(url, never);
    compile(
      text,
      rows.map(([, type], index) => {
        const own = `Payloads['t${index}']`;
        return `export const a${index}: Is<${own}, ${type.replaceAll('Self', own)}> = true;`;
      }),
    );
    expect(text).not.toMatch(/[\u2028-\u202e]/);
    serve(rows.map(([schema], index) => [`t${index}`, schema] as const).toReversed());
    expect(await payloadTypes(url, never)).toBe(text);
  });

  it('makes a union by `type`, and says what is deprecated', async () => {
    serve([
      ['order.paid', { properties: { total: { type: 'number' } } }, { description: 'Paid.\nIn full.' }],
      ['order.sent', undefined, { description: 'Sent.', deprecated: { use: 'order.gone' } }],
    ]);
    const text = await payloadTypes(url, never);
    expect(text).toContain('/**\n * Paid.\n * In full.\n */\nexport type OrderPaid = {\n  total?: number;\n};\n');
    expect(text).toContain('/**\n * Sent.\n * @deprecated Use order.gone.\n */\nexport type OrderSent = ');
    compile(text, [
      `export const total = (one: Envelope) => (one.type === 'order.paid' ? one.payload.total : one.payload['other']);`,
      `export const a: Is<EnvelopeOf<'order.sent'>['type'], 'order.sent'> = true;`,
    ]);
  });

  it('makes different identifiers of names that are alike, taken or none', async () => {
    const names = ['order.paid', 'order-paid', 'OrderPaid2', '1', '_', 'envelope', 'payloads', 'string', 'a.b'];
    serve([
      ...names.map((name) => [name, { type: 'string' }] as const),
      ['a', { $ref: '#/$defs/b', $defs: { b: { type: 'string' } } }],
    ]);
    const text = await payloadTypes(url, never);
    compile(
      text,
      [...names, 'a'].map((name, index) => `export const a${index}: Is<Payloads['${name}'], string> = true;`),
    );
  });

  it.each([
    [{}, /^http:\/\/127\.0\.0\.1:\d+\/below\/event-types answered 404$/],
    [{ '/below/event-types': '<html>' }, /event-types did not answer with JSON$/],
    [{ '/below/event-types': '{"eventTypes":5}' }, /event-types is not the list of event types of a relay$/],
  ])('names the address that answers %j', async (given, fault) => {
    answers = given;
    await expect(payloadTypes(url, never)).rejects.toThrow(fault);
  });

  it('says that nobody listens', async () => {
    await expect(payloadTypes('http://127.0.0.1:1', never)).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:1\/event-types cannot be reached \(.+\)$/,
    );
  });
});
