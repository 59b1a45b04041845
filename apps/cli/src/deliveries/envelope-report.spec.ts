import { describe, expect, it } from '@jest/globals';
import type { AttemptRecord } from '@relay/events';
import { reportOf, type StoredJob } from './envelope-report.js';
import { reportText } from './report-text.js';

const envelopeId = '11111111-1111-4111-8111-111111111111';
const webhookId = '22222222-2222-4222-8222-222222222222';
const hash = '0123456789abcdef';
const idOf = (series: number, acceptedAt = 1_000): string =>
  `${webhookId}_${envelopeId}_${hash}_${series}_${acceptedAt}`;
const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;

const record = (attempt: number, outcome: AttemptRecord['outcome'], series = 0): AttemptRecord => ({
  deliveryId: idOf(series),
  envelopeId,
  webhookId,
  eventType: 'task.created',
  at: at(attempt),
  attempt,
  outcome,
  final: outcome !== 'retry',
  status: outcome === 'delivered' ? 200 : 500,
  ...(outcome === 'dead-letter' ? { reason: 'attempts_exhausted' } : {}),
});
const job = (changes: Partial<StoredJob> = {}, series = 0): StoredJob => ({
  deliveryId: idOf(series),
  queue: 'deliveries',
  isRunning: false,
  tries: [],
  ...changes,
});
const statesOf = (jobs: StoredJob[], records: AttemptRecord[]): string[] =>
  reportOf(envelopeId, undefined, jobs, records).deliveries.map(({ state }) => state);

describe('reportOf', () => {
  const died = [record(1, 'retry'), record(2, 'dead-letter')];
  const letter = job({ queue: 'dead-letters', reason: 'attempts_exhausted' });

  it.each<[string, StoredJob[], AttemptRecord[], string[]]>([
    ['delivered at the first attempt', [], [record(1, 'delivered')], ['delivered']],
    ['waiting without an attempt', [job()], [], ['waiting']],
    ['waiting after a failed attempt', [job({ dueAt: 1 })], [record(1, 'retry')], ['waiting']],
    ['running', [job({ isRunning: true })], [record(1, 'retry')], ['running']],
    ['a dead letter', [letter], died, ['dead-letter']],
    ['a dead letter whose job is still being taken away', [job({ isRunning: true }), letter], died, ['dead-letter']],
    ['cancelled', [], [record(1, 'retry'), record(2, 'cancelled')], ['cancelled']],
    ['purged', [], died, ['purged']],
    ['replayed and waiting', [job({}, 1)], died, ['replayed', 'waiting']],
    ['replayed and delivered', [], [...died, record(1, 'delivered', 1)], ['replayed', 'delivered']],
    ['between an attempt and its job', [], [record(1, 'retry')], ['pending']],
  ])('tells a delivery that is %s', (_, jobs, records, states) => {
    expect(statesOf(jobs, records)).toEqual(states);
  });

  it('tells when the next attempt is due', () => {
    const [delivery] = reportOf(envelopeId, undefined, [job({ dueAt: Date.parse(at(9)) })], []).deliveries;
    expect(delivery?.nextAttemptAt).toBe(at(9));
  });

  it('shows an attempt once that the log holds twice, and all in their order', () => {
    const records = [record(2, 'delivered'), record(1, 'retry'), record(1, 'retry')];
    const [delivery] = reportOf(envelopeId, undefined, [], records).deliveries;
    expect(delivery?.attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('tells two acceptances apart, each with its own replays', () => {
    const again = job({ deliveryId: idOf(0, 2_000) });
    expect(statesOf([again, job({}, 1)], died)).toEqual(['replayed', 'waiting', 'waiting']);
    expect(statesOf([job({ deliveryId: idOf(1, 2_000) })], died)).toEqual(['purged', 'waiting']);
  });

  it('leaves out what carries no delivery id', () => {
    expect(statesOf([job({ deliveryId: 'x' })], [])).toEqual([]);
  });
});

describe('reportText', () => {
  it('reads well', () => {
    const jobs = [job({ dueAt: Date.parse(at(9)) })];
    const report = reportOf(envelopeId, { state: 'settled', hash }, jobs, [record(1, 'retry')]);
    expect(reportText(report).split('\n')).toEqual([
      `envelope ${envelopeId}`,
      'settled: every delivery of it was answered, or has its own job or dead letter',
      '1 delivery',
      '',
      `webhook ${webhookId}: waiting, next attempt ${at(9)}`,
      `  ${idOf(0)}`,
      `  1  ${at(1)}  500    failed`,
    ]);
  });

  it('shows the beginning of what the endpoint answered in one line', () => {
    const failed = { ...record(1, 'retry'), detail: 'answered 500', answer: `no\n  such ${'x'.repeat(200)}` };
    expect(
      reportText(reportOf(envelopeId, undefined, [], [failed]))
        .split('\n')
        .at(-1),
    ).toBe(`  1  ${at(1)}  500    failed  answered 500: no such ${'x'.repeat(92)}`);
  });

  it('says of a dead letter of a whole envelope why it is one', () => {
    const deliveryId = `-_${envelopeId}_${hash}_0_1000`;
    const whole = job({ deliveryId, queue: 'dead-letters', reason: 'id_conflict', lastFailure: 'other content' });
    expect(reportText(reportOf(envelopeId, undefined, [whole], []))).toContain(
      'the envelope as a whole: dead letter, id_conflict, other content',
    );
  });
});
