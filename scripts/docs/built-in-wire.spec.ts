import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import {
  type AppliedEventType,
  EVENT_TYPES,
  eventTypes,
  examplePayload,
  readCloudEvent,
  readEnvelope,
  recordHeaders,
} from '@relay/events';
import { documentOf } from '../../apps/operations/src/controllers.js';
import { publishedDocuments } from './published-documents.js';

const PROSE = new Set(['description', 'summary', 'title', 'example', 'examples', 'version']);

/** Returns the value without the texts for people; a member in `properties` is none. */
function withoutProse(value: unknown, isProperties = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => isProperties || !PROSE.has(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutProse(member, name === 'properties')]));
}

const ID = '6F1E2D3C-4B5A-4968-8776-655443322110';

/** Returns what a relay says of the built-in event types: its documents, and the records and errors of envelopes. */
function builtInWire(): Readonly<Record<string, unknown>> {
  const documents = publishedDocuments();
  const document = (name: string): unknown => withoutProse(JSON.parse(documents[name] ?? ''));
  return {
    openapi: document('openapi.json'),
    asyncapi: document('asyncapi.json'),
    records: Object.fromEntries(
      EVENT_TYPES.map((type) => [type, payloadsOf(type).map((each) => recordsOf(type, each))]),
    ),
    envelopes: [null, [], 5, { id: 5, type: 'task.created', payload: {} }, { id: ID, type: 'task.created', x: 1 }].map(
      (value) => readEnvelope(Buffer.from(JSON.stringify(value)), []),
    ),
  };
}

/** The example, and payloads with each of its members wrong or missing. */
function payloadsOf(type: (typeof EVENT_TYPES)[number]): unknown[] {
  const example = examplePayload(type);
  const wrong = Object.keys(example).flatMap((name) => [
    { ...example, [name]: [] },
    { ...example, [name]: undefined },
  ]);
  return [example, { ...example, id: ID }, { ...example, id: 'none' }, { ...example, more: 1 }, null, [], ...wrong];
}

function recordsOf(type: string, payload: unknown): unknown[] {
  const audience = ['b', 'a', 'b'];
  const event = { specversion: '1.0', id: ID, type, source: '/s', time: '2026-01-01T00:00:00Z', data: payload };
  const read = [
    readEnvelope(Buffer.from(JSON.stringify({ id: ID, type, payload })), audience),
    readCloudEvent(Buffer.from(JSON.stringify(event)), audience),
  ];
  return read.map((result) => {
    if (!result.ok) return result;
    const { envelope } = result;
    const headers = recordHeaders({ envelope, source: 's', ceSource: 'https://relay.example', acceptedAt: 0 });
    return { headers, key: envelope.key, value: envelope.bytes.toString(), hash: envelope.contentHash };
  });
}

/** Returns the pointers of what `before` has and `now` has not. An object may have more members now, and a list may not. */
function changes(before: unknown, now: unknown, at = ''): string[] {
  if (typeof before !== 'object' || before === null || Array.isArray(before))
    return JSON.stringify(before) === JSON.stringify(now) ? [] : [at];
  return Object.entries(before).flatMap(([name, member]) =>
    changes(member, (now as Record<string, unknown> | undefined)?.[name], `${at}/${name}`),
  );
}

describe('while no event type is applied', () => {
  /** Made by `builtInWire` at commit 6582d587, the last without applied event types. */
  const { records, envelopes, ...documents } = JSON.parse(
    gunzipSync(readFileSync(new URL('built-in-wire.json.gz', import.meta.url))).toString(),
  ) as Record<string, unknown>;
  const now = JSON.parse(JSON.stringify(builtInWire())) as Record<string, unknown>;

  it('the documents say what they said before, and more', () => {
    expect(changes(documents, now)).toEqual(['/asyncapi/components/schemas/OperationsRecord/properties/event/enum']);
  });

  it('records and errors of the built-in types are as they were', () => {
    expect({ records: now['records'], envelopes: now['envelopes'] }).toEqual({ records, envelopes });
  });
});

it('the document of operations lists the event types that there are', () => {
  const document = documentOf({ publicUrl: 'https://relay.example', version: '0' });
  const before = document();
  const type: Partial<AppliedEventType> = { name: 'order.paid', isArchived: false, audience: 'any', sample: {} };
  eventTypes.replace({ applied: [type as AppliedEventType] });
  expect(document().includes('"tax_return.filed","order.paid"')).toBe(true);
  eventTypes.replace({});
  expect(document().equals(before)).toBe(true);
});
