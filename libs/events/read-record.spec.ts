import { readRecord, type LogRecord } from './read-record.js';
import { examplePayload } from './envelope.js';

const ID = '0b9a4b1e-5a0f-4a8e-9f43-0c9d6f0a1b2c';
const task = JSON.stringify({ id: ID, type: 'task.created', payload: { id: ID, userId: ID, financialPlanId: ID } });
const record = (value: string | null, headers: LogRecord['headers'] = {}): LogRecord => ({
  offset: 7,
  key: null,
  value: value === null ? null : Buffer.from(value),
  headers,
  timestamp: 1_000,
});

describe('a record of the log', () => {
  it('is an envelope with the facts of its headers', () => {
    const headers = { 'relay-source': 's1', ce_time: '2026-11-20T12:00:00.000Z', 'relay-partner': 'p1' };
    expect(readRecord(record(task, headers), 'x.task.created', 'x.')).toMatchObject({
      kind: 'envelope',
      envelope: { id: ID, audience: ['p1'] },
      acceptedAt: Date.parse('2026-11-20T12:00:00.000Z'),
    });
  });

  it('counts from its own timestamp when another producer wrote it', () => {
    const headers = { ce_time: '2020-01-01T00:00:00Z' };
    expect(readRecord(record(task, headers), 'task.created', '')).toMatchObject({ acceptedAt: 1_000 });
  });

  describe('that the relay itself has written', () => {
    const notice = (facts: object): string => {
      const payload = { ...examplePayload('webhook.disabled'), ...facts };
      return JSON.stringify({ id: ID, type: 'webhook.disabled', payload });
    };
    const headers = { 'relay-source': 'relay', 'relay-partner': 'p1' };
    const hashOf = (facts: object, partner: string) => {
      const read = readRecord(record(notice(facts), { 'relay-partner': partner }), 'x.relay.notices', 'x.');
      return read.kind === 'envelope' ? read.envelope.contentHash : read.reason;
    };

    it('is a notice for its partner, and the same notice whatever it says', () => {
      expect(readRecord(record(notice({}), headers), 'x.relay.notices', 'x.')).toMatchObject({
        kind: 'envelope',
        envelope: { id: ID, type: 'webhook.disabled', audience: ['p1'] },
      });
      expect(hashOf({ reason: 'gone' }, 'p1')).toBe(hashOf({ reason: 'partner' }, 'p1'));
      expect(hashOf({ reason: 'gone' }, 'p1')).not.toBe(hashOf({ reason: 'gone' }, 'p2'));
    });

    it.each([
      ['it is in the topic of an event type', notice({}), headers, 'x.webhook.disabled', /does not belong/],
      ['its topic has the envelope of a source', task, headers, 'x.relay.notices', /type/],
      ['it names no partner', notice({}), {}, 'x.relay.notices', /names the partners/],
      ['its payload is no notice', notice({ reason: 5 }), headers, 'x.relay.notices', /payload\/reason/],
    ])('is poison when %s', (_, value, of, topic, reason) => {
      expect(readRecord(record(value, of), topic, 'x.')).toMatchObject({
        kind: 'poison',
        reason: expect.stringMatching(reason),
      });
    });
  });

  it('is an envelope of any size, since the bound of the ingress may have been another one', () => {
    const large = task.replace('"payload":{', `"payload":{"text":"${'x'.repeat(1_000_000)}",`);
    expect(readRecord(record(large), 'task.created', '')).toMatchObject({ kind: 'envelope' });
  });

  it.each([
    ['a tombstone', null, /no value/],
    ['no JSON', 'garbage', /JSON|byte|value/i],
    ['JSON but no envelope', '{"id":"x"}', /id/],
    ['an envelope of another type', task.replace('task.created', 'task.updated'), /task\.updated/],
  ])('is poison when it is %s, with the reason in words', (_, value, reason) => {
    const read = readRecord(record(value), 'task.created', '');
    expect(read).toMatchObject({ kind: 'poison', reason: expect.stringMatching(reason) });
  });
});
