import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { type AppliedEventType, eventTypes } from './event-types.js';
import { readEnvelope, type AcceptedEnvelope } from './read-envelope.js';
import { EnvelopeHeaders, readRecordHeaders, recordHeaders, type HeaderValue } from './read-record.js';

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const ID = '6f1c1c1e-8d1b-4c0b-9b1e-0a8a7c1f2d3e';

function anEnvelope(audience: string[]): AcceptedEnvelope {
  const read = readEnvelope(Buffer.from(`{"id":"${ID}","type":"plan.created","payload":{}}`), audience);
  if (!read.ok) throw new Error('no envelope');
  return read.envelope;
}

describe('recordHeaders', () => {
  it('writes the headers that docs/integrate/kafka.md and the schema list', () => {
    const envelope = { ...anEnvelope(['p']), event: { source: '/core', time: '2026-11-20T12:00:00Z' } };
    const facts = { source: 'platform', ceSource: 'https://relay.example', acceptedAt: 0, traceparent: TRACE };
    const kept: Omit<AppliedEventType, 'name'> = {
      description: '',
      revision: 1,
      isArchived: false,
      sample: {},
      audience: 'any',
      faultsOf: () => [],
    };
    const own = { ...kept, name: 'order.paid', schema: {} };
    eventTypes.replace({ applied: [own] });
    const headers = recordHeaders({ envelope: { ...envelope, type: own.name }, ...facts });
    eventTypes.replace({});
    expect(headers['ce_dataschema']).toBe('https://relay.example/schemas/order.paid/1.json');
    const written = Object.keys(headers).toSorted();
    const page = readFileSync('docs/integrate/kafka.md', 'utf8');
    const [, table = ''] = /\n## Headers of a record\n.*?((?:\n\|[^\n]*)+)/s.exec(page) ?? [];
    const listed = [...table.matchAll(/^\| (`.*?) +\| /gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    expect(listed.toSorted()).toEqual(written);
    expect(Object.keys(EnvelopeHeaders.shape).toSorted()).toEqual(written);
  });

  it('writes the CloudEvents Kafka binding in binary mode', () => {
    const headers = recordHeaders({
      envelope: anEnvelope([]),
      source: 'platform',
      ceSource: 'https://relay.example',
      acceptedAt: Date.UTC(2026, 10, 20, 12, 0, 0, 7),
    });
    expect(headers).toEqual({
      ce_specversion: '1.0',
      ce_id: ID,
      ce_type: 'plan.created',
      ce_source: 'https://relay.example',
      ce_time: '2026-11-20T12:00:00.007Z',
      'content-type': 'application/json',
      'relay-source': 'platform',
    });
  });

  it('adds the trace and the partners where there are any', () => {
    const envelope = anEnvelope(['b', 'a', 'b']);
    const headers = recordHeaders({ envelope, source: 's', ceSource: 'r', acceptedAt: 0, traceparent: TRACE });
    expect(headers).toMatchObject({ traceparent: TRACE, 'relay-partner': 'a,b' });
  });

  it('is read back as it was written, as strings or as the bytes that Kafka hands over', () => {
    const partner = fc.stringMatching(/^[\w-]{1,12}$/);
    fc.assert(
      fc.property(fc.array(partner), partner, fc.nat(4e12), fc.boolean(), (partners, source, acceptedAt, asBytes) => {
        const envelope = anEnvelope(partners);
        const written = recordHeaders({ envelope, source, ceSource: 'r', acceptedAt, traceparent: TRACE });
        const entries = Object.entries(written).map(([name, text]) => [name, asBytes ? Buffer.from(text) : text]);
        const expected = { audience: envelope.audience, acceptedAt, traceparent: TRACE, source };
        expect(readRecordHeaders(Object.fromEntries(entries))).toEqual(expected);
      }),
    );
  });
});

describe('readRecordHeaders', () => {
  it('knows nothing of a record without headers', () => {
    expect(readRecordHeaders({})).toEqual({ audience: [] });
  });

  it.each<[HeaderValue, string[]]>([
    ['b, a ,b', ['a', 'b']],
    [Buffer.from('a'), ['a']],
    [
      ['b', Buffer.from('c,a')],
      ['a', 'b', 'c'],
    ],
    [undefined, []],
    ['', ['']],
    [' , ', ['']],
    [[], ['']],
    [null, ['']],
  ])('reads relay-partner %j as %j', (value, audience) => {
    expect(readRecordHeaders({ 'relay-partner': value })).toEqual({ audience });
  });

  it.each([
    ['2026-11-20T12:00:00Z', Date.UTC(2026, 10, 20, 12)],
    ['2026-11-20t12:00:00.123456789z', Date.UTC(2026, 10, 20, 12, 0, 0, 123)],
    ['2026-11-20T13:30:00.5+01:30', Date.UTC(2026, 10, 20, 12, 0, 0, 500)],
    ['2026-11-20', undefined],
    ['20 November 2026', undefined],
    ['2026-13-40T99:00:00Z', undefined],
    ['1763640000', undefined],
    ['', undefined],
  ])('reads ce_time %j as %j', (time, acceptedAt) => {
    expect(readRecordHeaders({ ce_time: time }).acceptedAt).toBe(acceptedAt);
  });

  it.each([
    [TRACE, TRACE],
    [TRACE.toUpperCase(), undefined],
    [TRACE.replace('00-', 'ff-'), undefined],
    [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    [`00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`, undefined],
    [`${TRACE}\r\nx-injected: 1`, undefined],
    [`${TRACE}\n`, undefined],
  ])('reads traceparent %j as %j', (value, traceparent) => {
    expect(readRecordHeaders({ traceparent: value }).traceparent).toBe(traceparent);
  });

  it('never throws, whatever a producer wrote', () => {
    const bytes = fc.uint8Array({ maxLength: 60 }).map((list) => Buffer.from(list));
    const value = fc.oneof(
      bytes,
      fc.string(),
      fc.array(fc.oneof(bytes, fc.string())),
      fc.constantFrom(null, undefined),
    );
    const names = fc.constantFrom('relay-partner', 'ce_time', 'traceparent', 'relay-source', 'ce_id');
    fc.assert(
      fc.property(fc.dictionary(names, value), (headers) => {
        expect(readRecordHeaders(headers).audience).toEqual(expect.any(Array));
      }),
    );
  });
});
