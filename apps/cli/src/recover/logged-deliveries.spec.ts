import type { DeadLetter } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import type { AttemptRecord } from '@relay/events';
import type { EnvelopeRecord } from '@relay/events';
import { CLOCK_TOLERANCE_MS, LoggedDeadLetters, Outcomes, readLetter, recoveryOf } from './logged-deliveries.js';

const NOW = 10_000_000;
const hash = '0123456789abcdef';
const idOf = (webhookId: string, acceptedAt = 1_000_000): string =>
  deliveryId({ webhookId, envelopeId: 'e', hash, series: 0, acceptedAt });
const item = {
  kind: 'envelope',
  record: { offset: 1, key: null, value: null, headers: {}, timestamp: 1 },
  envelope: { id: 'e', type: 'task.created', contentHash: hash, bytes: Buffer.from('{}'), audience: [], key: 'e' },
  acceptedAt: 1_000_000,
  traceparent: undefined,
} as unknown as EnvelopeRecord;
const aWebhook = (id: string, createdAt = 0) => ({ id, partnerId: 'p', createdAt });
const attempt = (outcome: AttemptRecord['outcome'], facts: Partial<AttemptRecord> = {}): AttemptRecord => ({
  deliveryId: idOf('w'),
  envelopeId: 'e',
  webhookId: 'w',
  eventType: 'task.created',
  at: new Date(1).toISOString(),
  outcome,
  final: outcome !== 'retry',
  ...facts,
});
const logged = (records: readonly AttemptRecord[], letters = new LoggedDeadLetters()) => {
  const outcomes = new Outcomes();
  for (const record of records) outcomes.take(record);
  return { outcomes, letters };
};
const letter: DeadLetter = {
  v: 1,
  webhookId: 'w',
  partnerId: 'p',
  envelopeId: 'e',
  eventType: 'task.created',
  hash,
  series: 0,
  attempts: 10,
  acceptedAt: 1_000_000,
  body: '{}',
  reason: 'attempts_exhausted',
  diedAt: 2_000_000,
};
const bytes = (record: object): Buffer => Buffer.from(JSON.stringify(record));

describe('the recovery of an envelope', () => {
  it('delivers at once and from the first attempt to every webhook that the log knows nothing of', () => {
    const { deliveries, alreadyFinal } = recoveryOf(item, [aWebhook('w'), aWebhook('v')], logged([]), NOW);
    expect(deliveries.map(({ job, at }) => [job.webhookId, job.attempts, job.body, at])).toEqual([
      ['w', 0, '{}', NOW],
      ['v', 0, '{}', NOW],
    ]);
    expect(alreadyFinal).toBe(0);
  });

  it('begins the 96 hours anew if no attempt was made, and otherwise keeps them from the first attempt', () => {
    const [fresh] = recoveryOf(item, [aWebhook('w')], logged([]), NOW).deliveries;
    expect(fresh?.job.acceptedAt).toBe(NOW);
    const attempts = [3, 2].map((at) => attempt('retry', { attempt: at, at: new Date(at * 1_000_000).toISOString() }));
    const [tried] = recoveryOf(item, [aWebhook('w')], logged(attempts), NOW).deliveries;
    expect(tried?.job.acceptedAt).toBe(2_000_000);
    const early = attempt('retry', { attempt: 1, at: new Date(5).toISOString() });
    const [before] = recoveryOf(item, [aWebhook('w')], logged([early]), NOW).deliveries;
    expect(before?.job.acceptedAt).toBe(item.acceptedAt);
    expect([fresh, tried, before].map((delivery) => delivery?.job.waitedSince)).toEqual(Array(3).fill(item.acceptedAt));
  });

  it('leaves out webhooks that were registered later by more than clocks may differ', () => {
    const at = item.acceptedAt + CLOCK_TOLERANCE_MS;
    const { deliveries } = recoveryOf(item, [aWebhook('in', at), aWebhook('out', at + 1)], logged([]), NOW);
    expect(deliveries.map(({ job }) => job.webhookId)).toEqual(['in']);
  });

  const retry = (number: number, nextAt: number): AttemptRecord =>
    attempt('retry', { attempt: number, nextAt: new Date(nextAt).toISOString(), detail: 'status 500' });

  it.each([
    ['delivered', [attempt('delivered')]],
    ['delivered after a retry', [retry(1, 5), attempt('delivered')]],
    ['delivered, and attempted once more after a crash', [attempt('delivered'), retry(2, NOW)]],
    ['cancelled', [attempt('cancelled')]],
  ])('leaves out what was %s', (_name, records) => {
    expect(recoveryOf(item, [aWebhook('w')], logged(records), NOW)).toEqual({ deliveries: [], alreadyFinal: 1 });
  });

  it.each([
    ['the next attempt is due later', [retry(1, 5), retry(2, NOW + 7)], 2, NOW + 7],
    ['it was due before', [retry(3, NOW - 1)], 3, NOW],
    ['its dead letter was never logged', [retry(1, 5), attempt('dead-letter', { attempt: 2 })], 2, NOW],
  ])('goes on in the schedule if %s', (_name, records, attempts, at) => {
    const [delivery] = recoveryOf(item, [aWebhook('w')], logged(records), NOW).deliveries;
    expect(delivery).toMatchObject({ at, job: { attempts } });
  });

  it.each([
    ['is a dead letter', [letter]],
    ['was one until it was purged', [{ v: 1, deliveryId: idOf('w'), ended: 'purged', at: 1, deliveries: [] }]],
  ])('leaves out what %s', (_name, records) => {
    const letters = new LoggedDeadLetters();
    for (const record of records) {
      const read = readLetter(bytes(record));
      if (read !== undefined) letters.take(read);
    }
    expect(recoveryOf(item, [aWebhook('w')], logged([], letters), NOW)).toEqual({ deliveries: [], alreadyFinal: 1 });
  });
});

describe('the recovery of an envelope that was accepted again', () => {
  const before = 999_999;
  const end = { v: 1, deliveryId: idOf('w', before), ended: 'purged', at: NOW, deliveries: [] };
  it.each([
    ['delivered', [attempt('delivered', { deliveryId: idOf('w', before) })], []],
    ['a dead letter', [], [{ ...letter, acceptedAt: before }]],
    ['a dead letter after it had waited', [], [{ ...letter, waitedSince: before }]],
    ['a dead letter until it was purged', [], [{ ...letter, acceptedAt: before }, end]],
  ])('delivers it if the first acceptance was %s', (_name, records, told) => {
    const letters = new LoggedDeadLetters();
    for (const record of told) {
      const read = readLetter(bytes(record));
      if (read !== undefined) letters.take(read);
    }
    const { deliveries, alreadyFinal } = recoveryOf(item, [aWebhook('w')], logged(records, letters), NOW);
    expect([deliveries.map(({ job }) => deliveryId(job)), alreadyFinal]).toEqual([[idOf('w')], 0]);
  });
});

describe('the logged dead letters', () => {
  it.each([[[0, 1]], [[1, 0]]])('have ended if their end stands anywhere in the log', (order) => {
    const end = { v: 1, deliveryId: idOf('w'), ended: 'replayed', at: 1, deliveries: ['next'] };
    const letters = new LoggedDeadLetters();
    for (const at of order) {
      const read = readLetter(bytes([letter, end][at] ?? {}));
      if (read !== undefined) letters.take(read);
    }
    expect(letters.endOf(idOf('w'))).toEqual(end);
    expect(letters.knows(idOf('w'))).toBe(true);
    expect(letters.endOf('other')).toBeUndefined();
  });

  it.each([['no JSON'], ['{}'], ['null'], ['[1]'], [JSON.stringify({ ...letter, body: '' })]])(
    'leave out %s',
    (text) => {
      expect(readLetter(Buffer.from(text))).toBeUndefined();
      expect(readLetter(null)).toBeUndefined();
    },
  );
});
