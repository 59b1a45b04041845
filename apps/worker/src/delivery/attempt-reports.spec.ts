import { expect, it, jest } from '@jest/globals';
import type { AttemptFacts } from '@relay/events';
import type { Disposition } from '@relay/retry';
import type { Webhook } from '@relay/webhooks';
import type { EventReporter } from '../reporting/event-reporter.js';
import { AttemptLog, type KeptAnswer } from './attempt-reports.js';

const webhook = { id: 'a-webhook', partnerId: 'a "partner"' } as Webhook;
const delivery = {
  webhookId: 'a-webhook',
  envelopeId: 'an-envelope',
  eventType: 'a.b',
  hash: 'cafe',
  series: 2,
  attempts: 0,
  acceptedAt: 7,
};
const names = {
  deliveryId: 'a-webhook_an-envelope_cafe_2_7',
  envelopeId: 'an-envelope',
  webhookId: 'a-webhook',
  eventType: 'a.b',
};

function aLog() {
  const report = jest.fn<(key: string, record: object) => void>();
  const delivered = jest.fn();
  const failed = jest.fn();
  const answered = jest.fn();
  const log = new AttemptLog({ report } as unknown as EventReporter, { of: () => ({ delivered, failed, answered }) });
  const attempted = (facts: AttemptFacts, decided: Disposition, kept?: KeptAnswer): string => {
    log.attempted(webhook, delivery, 3, [{ at: 1, durationMs: 1 }, facts], decided, kept);
    return JSON.stringify(report.mock.lastCall);
  };
  return { log, report, delivered, failed, answered, attempted };
}

it.each<[string, AttemptFacts, Disposition, object]>([
  [
    'delivered',
    { at: 1_000, durationMs: 5, status: 204 },
    { kind: 'delivered' },
    { outcome: 'delivered', final: true },
  ],
  [
    'repeated',
    { at: 1_000, durationMs: 5, error: 'reset', detail: 'a "reset"' },
    { kind: 'retry', at: 61_005 },
    { outcome: 'retry', nextAt: '1970-01-01T00:01:01.005Z', final: false },
  ],
  [
    'given up',
    { at: 1_000, durationMs: 5, status: 410, detail: 'answered 410 Gone' },
    { kind: 'dead-letter', reason: 'gone' },
    { outcome: 'dead-letter', reason: 'gone', final: true },
  ],
])('writes an attempt that is %s', (_, facts, decided, end) => {
  const { attempted } = aLog();
  const record = { ...names, partnerId: 'a "partner"', attempt: 3, ...facts, at: '1970-01-01T00:00:01.000Z', ...end };
  expect(attempted(facts, decided)).toBe(JSON.stringify(['an-envelope', record]));
});

it('writes what was delivered to the history, and has a failed attempt counted', () => {
  const { attempted, delivered, failed } = aLog();
  attempted({ at: 1, durationMs: 1, status: 500 }, { kind: 'retry', at: 2 });
  expect(delivered).not.toHaveBeenCalled();
  expect(failed.mock.calls).toEqual([['a-webhook', { at: 1, durationMs: 1, status: 500 }]]);
  attempted({ at: 5, durationMs: 1, status: 200 }, { kind: 'delivered' });
  const attempts = [
    { at: 1, durationMs: 1 },
    { at: 5, durationMs: 1, status: 200 },
  ];
  const line = { webhookId: 'a-webhook', envelopeId: 'an-envelope', acceptedAt: 7, series: 2, attempts };
  expect(delivered.mock.calls).toEqual([[line]]);
  expect(failed).toHaveBeenCalledTimes(1);
});

it('has a kept answer of a good attempt in the record and among the counts, never in the line of the history', () => {
  const { attempted, delivered, answered } = aLog();
  const facts = { at: 5, durationMs: 1_200, status: 200, timing: { reused: true } };
  const kept = { answer: 'fine', answerHeaders: { server: 'a' } };
  expect(attempted(facts, { kind: 'delivered' }, kept)).toContain(
    JSON.stringify({ ...kept, timing: facts.timing }).slice(1, -1),
  );
  expect(answered.mock.calls).toEqual([['a-webhook', { ...facts, ...kept }]]);
  expect(JSON.stringify(delivered.mock.calls)).not.toContain('fine');
});

it('writes the beginning of an attempt to the millisecond, whichever second was written before', () => {
  const { report, attempted } = aLog();
  const times = [
    0, 1, 999, 1_000, 999, 59_999, 60_000, 1_795_598_151_184, 1_795_598_151_009, 1_795_598_150_999, 86_399_999,
  ];
  for (const at of times) {
    attempted({ at, durationMs: 1, status: 200 }, { kind: 'delivered' });
    expect(report.mock.lastCall?.[1]).toHaveProperty('at', new Date(at).toISOString());
  }
});

it('writes an end without an attempt', () => {
  jest.useFakeTimers({ now: 1_500 });
  const { log, report } = aLog();
  log.ended(delivery, 'cancelled', 'webhook deleted');
  jest.useRealTimers();
  const record = {
    ...names,
    at: '1970-01-01T00:00:01.500Z',
    outcome: 'cancelled',
    reason: 'webhook deleted',
    final: true,
  };
  expect(JSON.stringify(report.mock.lastCall)).toBe(JSON.stringify(['an-envelope', record]));
});
