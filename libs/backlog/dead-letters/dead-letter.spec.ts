import { describe, expect, it } from '@jest/globals';
import { deliveryId } from '@relay/delivery';
import { NO_WEBHOOK } from '@relay/jobs';
import {
  isEmpty,
  matches,
  namesOf,
  replayOf,
  type DeadLetter,
  type DeadLetterFilter,
  type WebhookFinder,
} from './dead-letter.js';

const NOW = 5_000;
const [acme, beta] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'];

const letterOf = (changes: Partial<DeadLetter> = {}): DeadLetter => ({
  v: 1,
  webhookId: acme,
  partnerId: 'acme',
  envelopeId: '11111111-1111-4111-8111-111111111111',
  eventType: 'task.created',
  hash: '0123456789abcdef',
  series: 2,
  attempts: 10,
  acceptedAt: 1_000,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  lastFailure: 'answered 500',
  body: '{"n":1.10}',
  reason: 'attempts_exhausted',
  diedAt: 2_000,
  ...changes,
});
const all = [
  { id: acme, partnerId: 'acme' },
  { id: beta, partnerId: 'beta' },
];
const webhooks: WebhookFinder = {
  find: (id) => all.find((webhook) => webhook.id === id),
  matching: (type, audience) =>
    all.filter(({ partnerId }) => type === 'task.created' && (audience.length === 0 || audience.includes(partnerId))),
};
const jobsOf = (letter: DeadLetter) => {
  const replay = replayOf(letter, webhooks, NOW);
  return replay.kind === 'replay' ? replay.jobs : replay.why;
};

describe('replayOf', () => {
  it('starts the delivery under the next replay number, with every attempt and the whole horizon', () => {
    const { reason, diedAt, lastFailure, ...kept } = letterOf();
    expect(jobsOf(letterOf())).toEqual([{ ...kept, series: 3, attempts: 0, acceptedAt: NOW, waitedSince: 1_000 }]);
    expect([reason, diedAt, lastFailure]).toBeDefined();
  });

  it('names the acceptance of its envelope in the id, whenever it is replayed: two letters are two deliveries', () => {
    const idOf = (letter: DeadLetter, now: number): string[] => {
      const replay = replayOf(letter, webhooks, now);
      return replay.kind === 'replay' ? replay.jobs.map(deliveryId) : [];
    };
    expect(idOf(letterOf(), NOW)).toEqual(idOf(letterOf(), NOW + 1));
    expect(idOf(letterOf(), NOW)).toEqual(idOf(letterOf({ acceptedAt: 1_500, waitedSince: 1_000 }), NOW));
    expect(idOf(letterOf(), NOW)).not.toEqual(idOf(letterOf({ acceptedAt: 1_001 }), NOW));
  });

  it.each<[string, Partial<DeadLetter>, string[]]>([
    ['everyone', { partnerId: '' }, [acme, beta]],
    ['one partner', { partnerId: 'beta' }, [beta]],
    ['several partners', { partnerId: 'acme,beta' }, [acme, beta]],
  ])('replays an envelope for %s that could not be handled to every webhook that matches now', (_, changes, ids) => {
    const jobs = jobsOf(letterOf({ webhookId: NO_WEBHOOK, reason: 'handling_failed', ...changes }));
    expect(jobs).toMatchObject(ids.map((webhookId) => ({ webhookId, series: 3 })));
  });

  it('stores the partner of each webhook in its job', () => {
    const jobs = jobsOf(letterOf({ webhookId: NO_WEBHOOK, reason: 'handling_failed', partnerId: '' }));
    expect(jobs).toMatchObject([{ partnerId: 'acme' }, { partnerId: 'beta' }]);
  });

  it.each<[string, Partial<DeadLetter>, string]>([
    ['whose webhook was deleted', { webhookId: '00000000-0000-4000-8000-000000000000' }, 'webhook was deleted'],
    ['of an id used with other content', { webhookId: NO_WEBHOOK, reason: 'id_conflict' }, 'under a new id'],
    [
      'that matches nothing',
      { webhookId: NO_WEBHOOK, reason: 'handling_failed', eventType: 'plan.created', partnerId: '' },
      'no webhook matches',
    ],
  ])('refuses a letter %s and says what to do', (_, changes, why) => {
    expect(jobsOf(letterOf(changes))).toContain(why);
  });
});

describe('a filter of dead letters', () => {
  it.each<[DeadLetterFilter, boolean]>([
    [{}, true],
    [{ type: 'task.created', reason: 'attempts_exhausted', webhook: acme.toUpperCase() }, true],
    [{ type: 'plan.created' }, false],
    [{ reason: 'gone' }, false],
    [{ webhook: beta }, false],
    [{ type: 'task.created', reason: 'gone' }, false],
  ])('by %j is right', (filter, expected) => {
    expect(matches(letterOf(), filter)).toBe(expected);
  });

  it('is empty without members only', () => {
    expect([{}, { type: 'x' }, { reason: 'x' }, { webhook: 'x' }].map(isEmpty)).toEqual([true, false, false, false]);
  });

  it('accepts the id of a dead letter or of its envelope', () => {
    const letter = letterOf();
    const id = deliveryId(letter);
    expect(namesOf(id)).toEqual([id, letter.envelopeId]);
    expect(namesOf('none of ours')).toEqual(['none of ours']);
  });
});
