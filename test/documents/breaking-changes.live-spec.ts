import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diff } from '@asyncapi/diff';
import { breakingChanges } from '../../apps/ingress/src/documents/breaking-changes.js';
import { oasdiff, skipped } from './languages.js';

// scripts/docs.mjs asks our own comparison before it writes a document anew (docs/adr/0013). Here the tools that others use
// judge the same changes of the same documents.

type Node = { [name: string]: Node };
type Change = (document: Node) => void;
const folder = mkdtempSync(join(tmpdir(), 'relay-breaking-'));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (name: string): Node =>
  JSON.parse(readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')) as Node;
function changed(document: Node, change: Change): Node {
  const copy = structuredClone(document);
  change(copy);
  expect(copy).not.toEqual(document);
  return copy;
}
/** The node at these names; throws where there is none, so that a change always changes something. */
const at = (document: Node, ...names: string[]): Node =>
  names.reduce((node, name) => {
    const inner = node[name];
    if (inner === undefined) throw new Error(`no ${name} in the document`);
    return inner;
  }, document);
const list = (document: Node, ...names: string[]): unknown[] => at(document, ...names) as unknown as unknown[];
const remove = (document: Node, ...names: string[]): void => {
  at(document, ...names);
  Reflect.deleteProperty(at(document, ...names.slice(0, -1)), names.at(-1) ?? '');
};
const set = (document: Node, value: unknown, ...names: string[]): void =>
  void Reflect.set(at(document, ...names.slice(0, -1)), names.at(-1) ?? '', value);

const SCHEMAS = ['components', 'schemas'] as const;
const openApiChanges: [string, boolean, Change][] = [
  ['a path is removed', true, (d) => remove(d, 'paths', '/webhooks/{id}')],
  ['a method is removed', true, (d) => remove(d, 'paths', '/webhooks/{id}', 'delete')],
  ['a member of an answer is removed', true, (d) => remove(d, ...SCHEMAS, 'Receipt', 'properties', 'status')],
  ['a member of an answer is no longer certain', true, (d) => void list(d, ...SCHEMAS, 'Receipt', 'required').pop()],
  ['an answer may have another value', true, (d) => void list(d, ...enumOf('Delivery', 'status')).push('lost')],
  [
    'a member of a request is newly required',
    true,
    (d) => set(d, ['webhookId'], ...SCHEMAS, 'RetryRequest', 'required'),
  ],
  ['a request takes a value less', true, (d) => void list(d, ...enumOf('WebhookDeletion', 'eventType')).pop()],
  [
    'a request takes shorter texts',
    true,
    (d) => set(d, 99, ...SCHEMAS, 'WebhookPatch', 'properties', 'endPointUrl', 'maxLength'),
  ],
  [
    'a parameter is newly required',
    true,
    (d) => set(d, true, 'paths', '/webhooks/{id}/deliveries', 'get', 'parameters', '1', 'required'),
  ],
  ['nothing is changed but words', false, (d) => set(d, 'Other words.', ...SCHEMAS, 'Receipt', 'description')],
  [
    'a request may have a member more',
    false,
    (d) => set(d, { type: 'string' }, ...SCHEMAS, 'RetryRequest', 'properties', 'reason'),
  ],
  [
    'a request takes longer texts',
    false,
    (d) => set(d, 4_096, ...SCHEMAS, 'WebhookPatch', 'properties', 'endPointUrl', 'maxLength'),
  ],
  [
    'a method is added',
    false,
    (d) => set(d, at(d, 'paths', '/webhooks/{id}', 'get'), 'paths', '/webhooks/{id}', 'head'),
  ],
];
function enumOf(schema: string, member: string): string[] {
  return [...SCHEMAS, schema, 'properties', member, 'enum'];
}

const program = oasdiff();
if (program === undefined) skipped('oasdiff judges as we do: Go and its proxy are not here');
else
  describe('a change of /openapi.json is breaking for us and for oasdiff, or for neither', () => {
    const before = read('openapi.json');
    const save = (name: string, document: Node): string => {
      const file = join(folder, name);
      writeFileSync(file, JSON.stringify(document));
      return file;
    };
    it.each(openApiChanges)('%s: %s', (_name, isBreaking, change) => {
      const after = changed(before, change);
      const files = [save('before.json', before), save('after.json', after)];
      const { status, stdout, stderr } = spawnSync(program, ['breaking', ...files, '--fail-on', 'WARN'], {
        encoding: 'utf8',
      });
      expect({ status, told: status === 1 ? '' : stdout, stderr }).toEqual({
        status: isBreaking ? 1 : 0,
        told: isBreaking ? '' : expect.any(String),
        stderr: '',
      });
      expect(breakingChanges(before, after).length > 0).toBe(isBreaking);
    });
  });

const asyncApiChanges: [string, boolean, Change][] = [
  ['a channel is removed', true, (d) => remove(d, 'channels', 'plan_updated')],
  ['a topic has another name', true, (d) => set(d, 'other', 'channels', 'plan_updated', 'address')],
  ['an operation is removed', true, (d) => remove(d, 'operations', Object.keys(at(d, 'operations'))[0] ?? '')],
  [
    'an operation goes the other way',
    true,
    (d) => set(d, 'receive', 'operations', Object.keys(at(d, 'operations'))[0] ?? '', 'action'),
  ],
  ['nothing is changed but words', false, (d) => set(d, 'Other words.', 'channels', 'plan_updated', 'description')],
  ['a channel is added', false, (d) => set(d, at(d, 'channels', 'plan_updated'), 'channels', 'more')],
];

describe('a change of /asyncapi.json is breaking for us and for the diff of AsyncAPI, or for neither', () => {
  const before = read('asyncapi.json');
  it.each(asyncApiChanges)('%s: %s', (_name, isBreaking, change) => {
    const after = changed(before, change);
    const theirs = diff(before, after).breaking() as unknown[];
    const ours = breakingChanges(before, after);
    expect([ours.length > 0, theirs.length > 0]).toEqual([isBreaking, isBreaking]);
  });
});
