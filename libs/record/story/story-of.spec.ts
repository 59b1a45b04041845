import { randomUUID } from 'node:crypto';
import { deliveryId } from '@relay/delivery';
import type { AttemptFacts, AttemptRecord } from '@relay/events';
import type { FoundEnvelope } from '@relay/kafka';
import type { PendingDelivery } from '@relay/retry';
import { replayName, storyOf, type StoryFacts } from './story-of.js';

const NOW = 1_900_000_000_000;
const [id, webhookId] = [randomUUID(), randomUUID()];
const hash = '0123456789abcdef';
const idOf = (series = 0, acceptedAt = NOW, of: string = webhookId): string =>
  deliveryId({ webhookId: of, envelopeId: id, hash, series, acceptedAt });
const timeOf = (seconds: number): string => new Date(NOW + seconds * 1_000).toISOString();

const attempt = (n: number, outcome: AttemptRecord['outcome'], series = 0): AttemptRecord => ({
  deliveryId: idOf(series),
  envelopeId: id,
  webhookId,
  eventType: 'plan.updated',
  partnerId: 'partner_a',
  at: timeOf(n + series * 100),
  attempt: n,
  durationMs: 7,
  status: outcome === 'delivered' ? 204 : 500,
  outcome,
  final: outcome !== 'retry',
  ...(outcome === 'dead-letter' ? { reason: 'attempts_exhausted' } : {}),
});
interface Changes {
  readonly id?: string;
  readonly partnerId?: string;
  readonly attempts?: number;
  readonly tries?: AttemptFacts[];
  /** Of a dead letter. */
  readonly reason?: string;
}
const pending = ({ id: deliveryOf = idOf(), reason, ...changes }: Changes = {}): PendingDelivery => {
  const job = { partnerId: 'partner_a', eventType: 'plan.updated', attempts: 1, tries: [], ...changes };
  return { id: deliveryOf, job, ...(reason === undefined ? {} : { letter: { ...job, reason } }) } as PendingDelivery;
};
const facts = (changes: Partial<StoryFacts> = {}): StoryFacts => ({
  id,
  mark: { state: 'settled', hash },
  repeats: { duplicates: 2, conflicts: 1 },
  attempts: [],
  pending: [],
  delivered: [],
  record: undefined,
  ranges: [],
  webhooks: new Map(),
  replays: new Map(),
  incomplete: [],
  ...changes,
});
const record = {
  topic: 'plan.updated',
  partition: 2,
  record: { offset: 17, timestamp: NOW + 3 },
  source: 'source_a',
  acceptedAt: NOW,
  envelope: { type: 'plan.updated', contentHash: hash },
} as FoundEnvelope;
const statesOf = (changes: Partial<StoryFacts>): string[] =>
  storyOf(facts(changes)).deliveries.map(({ state }) => state);
const webhook = { partnerId: 'partner_a', origin: 'https://a.example', status: 'active', barredBy: undefined } as const;

describe('storyOf', () => {
  const died = [attempt(1, 'retry'), attempt(2, 'dead-letter')];
  const letter = pending({ reason: 'attempts_exhausted', attempts: 2 });

  it.each<[string, Partial<StoryFacts>, string[]]>([
    ['delivered at the first attempt', { attempts: [attempt(1, 'delivered')] }, ['delivered']],
    ['waiting after a failure', { attempts: [attempt(1, 'retry')], pending: [pending()] }, ['waiting']],
    ['a dead letter', { attempts: died, pending: [letter] }, ['dead-letter']],
    ['purged', { attempts: died }, ['purged']],
    [
      'a dead letter for all that is known without the queues',
      { attempts: died, incomplete: ['redis'] },
      ['dead-letter'],
    ],
    ['replayed', { attempts: died, pending: [pending({ id: idOf(1) })] }, ['replayed', 'waiting']],
    ['cancelled', { attempts: [attempt(1, 'retry'), attempt(2, 'cancelled')] }, ['cancelled']],
    ['between an attempt and its job', { attempts: [attempt(1, 'retry')] }, ['pending']],
    ['parked', { record, ranges: [{ webhookId, series: 0 }] }, ['parked']],
    [
      'of a replay under way',
      { record, attempts: [attempt(1, 'delivered')], ranges: [{ webhookId, series: 4_000 }] },
      ['delivered', 'replaying'],
    ],
    [
      'attempted beyond the cursor of its range',
      { record, attempts: [attempt(1, 'delivered')], ranges: [{ webhookId, series: 0 }] },
      ['delivered'],
    ],
  ])('tells a delivery that is %s', (_, changes, states) => {
    expect(statesOf(changes)).toEqual(states);
  });

  it.each([
    ['schedule', webhook, pending()],
    ['room', webhook, pending({ attempts: 0 })],
    ['breaker', { ...webhook, barredBy: 'breaker' }, pending()],
    ['retry-after', { ...webhook, barredBy: 'retry-after' }, pending()],
    ['retry-after', webhook, pending({ tries: [{ at: NOW, durationMs: 1, status: 503, notBefore: NOW + 9_000 }] })],
    ['schedule', webhook, pending({ tries: [{ at: NOW, durationMs: 1, status: 503, notBefore: NOW - 60_000 }] })],
    ['disabled', { ...webhook, status: 'disabled', barredBy: 'breaker' }, pending()],
  ] as const)('tells that a delivery waits for: %s', (waitsFor, of, job) => {
    const [delivery] = storyOf(
      facts({ pending: [{ ...job, dueAt: NOW + 9_000 }], webhooks: new Map([[webhookId, of]]) }),
    ).deliveries;
    expect(delivery).toMatchObject({ waitsFor, nextAttemptAt: timeOf(9), host: 'a.example' });
  });

  it('tells acceptance and record, and the replay by time of a series', () => {
    const replays = new Map([[replayName(webhookId, 4_001), 'replay_a']]);
    const story = storyOf(facts({ record, replays, attempts: [attempt(1, 'delivered', 4_001)] }));
    expect(story).toMatchObject({
      eventType: 'plan.updated',
      acceptedAt: timeOf(0),
      source: 'source_a',
      repeats: { duplicates: 2, conflicts: 1 },
      record: { topic: 'plan.updated', partition: 2, offset: 17 },
      deliveries: [{ series: 4_001, replayId: 'replay_a' }],
    });
  });

  it('has an attempt once that the log holds twice, and those of the job that the index has not come to', () => {
    const tries = [1, 2, 3].map((n) => ({ at: NOW + n * 1_000, durationMs: 5, status: 500 }));
    const attempts = [attempt(2, 'retry'), attempt(1, 'retry'), attempt(1, 'retry')];
    const [delivery] = storyOf(facts({ attempts, pending: [pending({ attempts: 3, tries })] })).deliveries;
    expect(delivery?.attempts.map(({ at, outcome }) => [at, outcome])).toEqual([
      [timeOf(1), 'retry'],
      [timeOf(2), 'retry'],
      [timeOf(3), null],
    ]);
  });

  it('does not repeat the attempts before a replay in the replay', () => {
    const tries = [1, 2].map((n) => ({ at: NOW + n * 1_000, durationMs: 5, status: 500 }));
    const story = storyOf(facts({ attempts: died, pending: [pending({ id: idOf(1), attempts: 0, tries })] }));
    expect(story.deliveries.map(({ attempts }) => attempts.length)).toEqual([2, 0]);
  });

  it('tells the dead letter of the envelope as a whole, and two acceptances apart', () => {
    const whole = pending({ id: idOf(0, NOW, '-'), partnerId: '', reason: 'id_conflict' });
    const again = pending({ id: idOf(0, NOW + 5) });
    const { deliveries, acceptedAt } = storyOf(facts({ pending: [again, whole], attempts: [attempt(1, 'delivered')] }));
    expect(deliveries.map((each) => [each.webhookId, each.state])).toEqual([
      [null, 'dead-letter'],
      [webhookId, 'delivered'],
      [webhookId, 'waiting'],
    ]);
    expect(acceptedAt).toBe(timeOf(0));
  });
});
