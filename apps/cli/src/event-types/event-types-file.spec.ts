import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonFault } from '@relay/json';
import { runProgram } from '../program.js';
import { type DefinedTypes, definitionsIn, YamlFile } from './event-types-file.js';
import { webhooksIn } from './openapi-webhooks.js';

/** Reads a file, and has the operations app refuse it with these faults. */
function faultsOf(
  text: string,
  refused: readonly JsonFault[] = [],
  typesIn: (file: YamlFile) => DefinedTypes | undefined = definitionsIn,
): string[] {
  const file = new YamlFile(text);
  const types = typesIn(file);
  if (types !== undefined) file.refuse(types, refused);
  return file.faults.map(({ line, column, detail }) => `${line}:${column} ${detail}`);
}

describe('a file of event types', () => {
  it('has ten faults, each with its line and column', () => {
    const text = `eventTypes:
  order.paid:
    description: An order was paid.
    description: Twice.
    schema:
      type: strnig
      properties:
        total: { minimum: low, maximum: .inf }
  order.sent:
    sample: *nothing
  order.lost:
    partners: [acme, 'a b']
    schema: !odd
  Order.Lost: {}
  order.bad:
    schema: { type: object
  order.key:
    key: id
others: 1
`;
    const whole = text.replace('*nothing', '{ id: 5 }').replace('object\n', 'object }\n');
    const refused = [
      { pointer: '/eventTypes/order.paid/schema/type', detail: 'order.paid: is no type' },
      { pointer: '/eventTypes/order.paid/schema/properties/total/minimum', detail: 'must be a number' },
      { pointer: '/eventTypes/order.sent/sample/id', detail: 'order.sent: must be text' },
      { pointer: '/eventTypes/order.lost/partners/1', detail: 'is no client id' },
      { pointer: '/eventTypes/Order.Lost', detail: 'Order.Lost: it is like order.lost' },
      { pointer: '/eventTypes/order.key/deprecated/use', detail: 'is missing' },
      { pointer: '/eventTypes/order.key/key', detail: 'is no JSON Pointer' },
    ];
    expect(faultsOf(whole.replace('!odd', '{}'), refused)).toEqual([
      '4:5 Map keys must be unique',
      '6:13 order.paid: is no type',
      '8:27 order.paid: must be a number',
      '8:41 .inf is no number of JSON',
      '10:19 order.sent: must be text',
      '12:22 order.lost: is no client id',
      '14:3 Order.Lost: it is like order.lost',
      '17:3 order.key: /deprecated/use is missing',
      '18:10 order.key: is no JSON Pointer',
      '19:9 others is unknown: the file has eventTypes only',
    ]);
    // A type with a syntax fault has no other fault; an alias without a value leaves nothing to ask about.
    expect(faultsOf(whole, refused)).toEqual(
      expect.arrayContaining(['13:13 Unresolved tag: !odd', '14:3 Order.Lost: it is like order.lost']),
    );
    expect(faultsOf(whole, refused).filter((fault) => fault.includes('order.lost: '))).toEqual([]);
    expect(faultsOf(text, refused)).toEqual([
      '4:5 Map keys must be unique',
      '8:41 .inf is no number of JSON',
      '10:13 *nothing is the alias of no earlier value',
      '13:13 Unresolved tag: !odd',
      expect.stringMatching(/^17:3 .*must be sufficiently indented and end with a }$/),
    ]);
  });

  it.each([
    ['nothing', '', ['1:1 /eventTypes must be an object with definitions by name']],
    ['a list', '- 1', ['1:1 /eventTypes must be an object with definitions by name']],
    ['two documents', 'eventTypes: {}\n---\n', [expect.stringMatching(/^2:1 .*multiple documents/)]],
    [
      'JSON that ends early',
      '{"eventTypes": {',
      [expect.stringMatching(/^1:17 .*end with a }/), '1:17 Flow map must end with a }'],
    ],
    ['a key that is no text', 'eventTypes: { ? [a] : {} }', ['1:17 With stringKeys, all keys must be strings']],
    ['deep lists', '['.repeat(100_000), [expect.stringMatching(/^1:\d+ Maximum call stack size exceeded$/)]],
    [
      'an alias bomb',
      `eventTypes:\n  a: &a [1]\n  b: &b [${'*a,'.repeat(20)}]\n  c: [${'*b,'.repeat(20)}]\n`,
      ['1:1 Excessive alias count indicates a resource exhaustion attack'],
    ],
  ])('is not %s', (_, text, faults) => {
    expect(faultsOf(text)).toEqual(faults);
  });

  it('may repeat a value by an alias, and may be JSON', () => {
    const text = 'eventTypes:\n  a: &a { schema: { type: what } }\n  b: *a\n';
    expect(definitionsIn(new YamlFile(text))?.eventTypes).toEqual({
      a: { schema: { type: 'what' } },
      b: { schema: { type: 'what' } },
    });
    expect(faultsOf(text, [{ pointer: '/eventTypes/b/schema/type', detail: 'is no type' }])).toEqual([
      '2:27 b: is no type',
    ]);
    expect(definitionsIn(new YamlFile('{"eventTypes":{"a~/b":{}}}'))?.eventTypes).toEqual({ 'a~/b': {} });
    expect(faultsOf('{"eventTypes":\n{"a~/b":{}}}', [{ pointer: '/eventTypes/a~0~1b', detail: 'a~/b: no' }])).toEqual([
      '2:2 a~/b: no',
    ]);
  });
});

describe('an OpenAPI document', () => {
  const text = `openapi: 3.1.0
webhooks:
  order.paid:
    post:
      summary: An order was paid.
      requestBody: { $ref: '#/components/requestBodies/order' }
  order.sent:
    $ref: '#/components/pathItems/sent'
components:
  requestBodies:
    order: { content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } } }
  pathItems:
    sent:
      post: { description: An order was sent. }
  schemas:
    Order:
      type: object
      properties:
        $ref: { const: { $ref: data } }
        items: { type: array, items: { $ref: '#/components/schemas/Item%20of' } }
    Item of:
      properties: { parent: { $ref: '#/components/schemas/Item%20of/properties/parent' } }
    Unused: {}
`;

  it('gives its webhooks, each with the components of its schema', () => {
    const file = new YamlFile(text);
    expect(webhooksIn(file)?.eventTypes).toEqual({
      'order.paid': {
        description: 'An order was paid.',
        schema: {
          $ref: '#/$defs/Order',
          $defs: {
            Order: {
              type: 'object',
              properties: {
                $ref: { const: { $ref: 'data' } },
                items: { type: 'array', items: { $ref: '#/$defs/Item%20of' } },
              },
            },
            'Item of': { properties: { parent: { $ref: '#/$defs/Item%20of/properties/parent' } } },
          },
        },
      },
      'order.sent': { description: 'An order was sent.', schema: undefined },
    });
    expect(file.faults).toEqual([]);
  });

  it('has the lines of what the operations app refuses', () => {
    const refused = [
      { pointer: '/eventTypes/order.paid/description', detail: 'is too long' },
      { pointer: '/eventTypes/order.paid/schema/$ref', detail: 'is no reference' },
      { pointer: '/eventTypes/order.paid/schema/$defs/Order/type', detail: 'is no type' },
      { pointer: '/eventTypes/order.sent', detail: 'is built in' },
    ];
    expect(faultsOf(text, refused, webhooksIn)).toEqual([
      '5:16 order.paid: is too long',
      '7:3 order.sent: is built in',
      '11:61 order.paid: is no reference',
      '17:13 order.paid: is no type',
    ]);
  });

  it('has faults of its own', () => {
    const faulty = `openapi: 3.0.0
webhooks:
  order/paid: {}
  order.sent: { get: {} }
  order.lost: { $ref: 'other.yaml#/x' }
  order.kept:
    post:
      requestBody:
        content:
          application/json:
            schema:
              anyOf:
                - $ref: '#/components/schemas/None'
                - $ref: '#/components/parameters/x'
                - $ref: '#/%'
components: { parameters: { x: {} } }
`;
    const outside = 'must lead to a value below #/components/schemas of this document';
    expect(faultsOf(faulty, [], webhooksIn)).toEqual([
      '1:10 must be the version of an OpenAPI 3.1 document',
      '3:3 a name has parts of letters, digits, _ and -, joined by dots, such as order.paid',
      '4:3 order.sent: has no post',
      '5:3 order.lost: has no post',
      '5:23 must lead to a value below #/components of this document',
      `13:25 ${outside}`,
      `14:25 ${outside}`,
      `15:25 ${outside}`,
    ]);
    expect(faultsOf('openapi: 3.1.0', [], webhooksIn)).toEqual([
      '1:1 /webhooks must be an object with webhooks by name',
    ]);
  });
});

it('the command prints the commands that Kafka needs first, and fails', async () => {
  const problem = { detail: 'Kafka lets the operations app create no topics.', commands: ['one --topic a', 'two'] };
  const server = createServer((_, response) => response.writeHead(409).end(JSON.stringify(problem))).listen(0);
  await once(server, 'listening');
  const said = { out: '', err: '' };
  const code = await runProgram(['event-types', 'apply', '-f', '-'], {
    env: {
      OPERATIONS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OPERATOR_CLIENT_ID: 'operator_1',
      OPERATOR_CLIENT_SECRET: 'relay_sk_1',
    },
    readFile: () => '',
    readInput: () => Promise.resolve('eventTypes: { a: {} }'),
    print: (text) => void (said.out += `${text}\n`),
    note: (text) => void (said.err += `${text}\n`),
    isTerminal: false,
    interrupted: () => Promise.resolve(),
    exitCode: 0,
  });
  server.closeAllConnections();
  server.close();
  expect({ code, ...said }).toEqual({
    code: 1,
    out: 'one --topic a\ntwo\n',
    err: 'error: Kafka lets the operations app create no topics.\n',
  });
});
