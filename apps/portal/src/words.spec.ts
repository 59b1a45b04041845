import { faultOfUrl } from './endpoint.js';
import {
  causeOf,
  causesIn,
  healthOf,
  hourly,
  spanSince,
  stateOf,
  titleOf,
  type Delivery,
  type WebhookState,
} from './words.js';

const NOW = Date.parse('2030-01-01T12:00:00Z');
const at = (minutesAgo: number): string => new Date(NOW - minutesAgo * 60_000).toISOString();

const WELL: WebhookState = {
  id: 'w',
  eventType: 'task.created',
  endPointUrl: 'https://partner.example/hook',
  endPointName: null,
  status: 'active',
  disabledReason: null,
  waiting: 0,
  oldestWaitingAt: null,
  dead: 0,
  delivered: 5,
  failedAttempts: 0,
  failureRate: 0,
  lastDelivered: { envelopeId: 'e', at: at(5), status: 204, durationMs: 3 },
  lastFailure: null,
  lastGood: null,
};
const FAILURE = { at: at(2), durationMs: 4, status: 503 };

it.each<[string, Partial<WebhookState>, string, string]>([
  ['delivers', {}, 'active', 'All is well.'],
  ['failed last', { lastFailure: FAILURE }, 'failing', 'The last attempt, 2 minutes ago, failed: answered 503.'],
  ['failed before it delivered', { lastFailure: { ...FAILURE, at: at(9) } }, 'active', 'All is well.'],
  ['has deliveries that wait', { waiting: 21 }, 'retrying', '21 deliveries wait for another attempt.'],
  ['has dead letters', { dead: 2 }, 'active', 'retry them'],
  ['is parked', { status: 'parked' }, 'failing', 'They wait'],
  ['answered 410', { status: 'disabled', disabledReason: 'gone' }, 'disabled', '410 Gone'],
  ['was disabled by its partner', { status: 'disabled', disabledReason: 'partner' }, 'disabled', 'You disabled it.'],
  ['got nothing', { lastDelivered: null, delivered: 0 }, 'active', 'No delivery in the last 24 hours.'],
])('a webhook that %s is told so', (_, changes, word, words) => {
  const health = healthOf({ ...WELL, ...changes }, NOW);
  expect(health.word).toBe(word);
  expect(health.words).toContain(words);
});

const aDelivery = (status: Delivery['status'], minutesAgo: number, last?: Delivery['attempts'][number]): Delivery => ({
  envelopeId: 'e',
  webhookId: 'w',
  eventType: 'task.created',
  status,
  at: at(minutesAgo),
  acceptedAt: at(minutesAgo),
  series: 0,
  nextAttemptAt: null,
  waitsFor: null,
  reason: null,
  attempts: last === undefined ? [] : [last],
});

it('causesIn groups failures by their cause, the most frequent first, with the filter that finds them', () => {
  const refused = { at: at(1), durationMs: 1, error: 'refused' };
  const shown = [
    aDelivery('dead', 1, refused),
    aDelivery('dead', 1, FAILURE),
    aDelivery('waiting', 1, FAILURE),
    aDelivery('delivered', 1, { ...FAILURE, status: 204 }),
    aDelivery('waiting', 1),
  ];
  expect(causesIn(shown)).toEqual([
    { cause: { words: 'answered 503', query: { httpStatus: '503' } }, count: 2 },
    { cause: { words: 'the connection was refused', query: { error: 'refused' } }, count: 1 },
  ]);
});

it('causeOf tells a failure without a name in the words that came with it', () => {
  expect(causeOf({ error: 'odd', detail: 'odd thing' }).words).toBe('odd thing');
});

it.each([
  ['waiting', 0, 'waiting'],
  ['parked', 3, 'retrying'],
  ['dead', 8, 'dead letter'],
  ['dead-letter', 8, 'dead letter'],
  ['delivered', 2, 'delivered'],
] as const)('a delivery that is %s after %i attempts is told as %s', (state, attempts, word) => {
  expect(stateOf(state, attempts).word).toBe(word);
});

it('a webhook has its name as title, or the host and path of its URL', () => {
  expect(titleOf(WELL)).toBe('partner.example/hook');
  expect(titleOf({ ...WELL, endPointUrl: 'http://127.0.0.1:8080/a?b=1' })).toBe('http://127.0.0.1:8080/a?b=1');
  expect(titleOf({ ...WELL, endPointName: 'CRM' })).toBe('CRM');
});

it('hourly counts deliveries by the hour, none from before, and no delivery before its first attempt', () => {
  const earlier = aDelivery('delivered', 60 * 30);
  const hours = hourly([aDelivery('delivered', 5), aDelivery('dead', 30), aDelivery('waiting', 5), earlier], NOW);
  expect(hours).toHaveLength(24);
  expect(hours[23]).toEqual({ delivered: 1, failed: 1 });
  expect(hours.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(1);
});

it.each([
  ['', 'A URL is needed.'],
  ['example.com', 'This is not a URL.'],
  ['ftp://example.com', 'must begin with https://'],
  ['https://a:b@example.com', 'Remove user and password'],
  ['https://example.com/#x', 'Remove #x'],
])('the address %j is refused as it is typed', (text, fault) => {
  expect(faultOfUrl(text)).toContain(fault);
});

it('an address that may be one is left to the relay to judge', () => {
  expect(faultOfUrl('https://example.com/hook')).toBeUndefined();
});

it('spanSince knows when a span began', () => {
  expect(spanSince('24h', NOW)).toBe('2029-12-31T12:00:00.000Z');
  expect([spanSince('', NOW), spanSince('x', NOW), spanSince(undefined, NOW)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
