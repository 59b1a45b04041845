import { type Delivery, deliveryId as deliveryIdOf, parseDeliveryId } from '@relay/delivery';
import {
  AnswerHeaders,
  type AttemptFacts,
  type AttemptRecord,
  AttemptTiming,
  eventTypeName,
  isAskedToWait,
} from '@relay/events';
import type { DeliveredLine } from '@relay/history';
import type { FoundEnvelope, SoughtEnvelope } from '@relay/kafka';
import type { PendingDelivery } from '@relay/retry';
import { z } from 'zod';

const moment = z.iso.datetime();
const text = z.string().nullable();

const INCOMPLETE_PARTS = ['kafka', 'redis', 'index'] as const;
export type IncompletePart = (typeof INCOMPLETE_PARTS)[number];

const StoryAttempt = z
  .object({
    at: moment.describe('When it began; of an end without an attempt, when it ended.'),
    attempt: z.int().nullable().describe('1 for the first of its series; `null` for an end without an attempt.'),
    durationMs: z.number().nullable(),
    status: z.int().nullable().describe('HTTP status of the endpoint, if it answered.'),
    error: text.describe('Kind of failure, if it did not.'),
    detail: text.describe('What went wrong, in words.'),
    answer: text.describe(
      'What the endpoint answered with a text, without secrets: to a failed attempt, and now and then to another.',
    ),
    answerHeaders: AnswerHeaders.nullable(),
    timing: AttemptTiming.nullable(),
    outcome: z
      .enum(['delivered', 'retry', 'dead-letter', 'cancelled'])
      .nullable()
      .describe('`null` if it is not known.'),
    reason: text.describe('Why the delivery was given up or cancelled.'),
    nextAt: moment.nullable().describe('When it was to be repeated.'),
  })
  .meta({ id: 'StoryAttempt', description: 'An attempt at an endpoint, or the end of a delivery without one.' });
export type StoryAttempt = z.infer<typeof StoryAttempt>;

export const StoryDelivery = z
  .object({
    id: z.string().describe('Id of the delivery; its dead letter has the same.'),
    webhookId: z.guid().nullable().describe('`null` for the dead letter of the envelope as a whole.'),
    partnerId: text,
    host: text.describe('Host of the endpoint, where it is known.'),
    series: z.int().describe('0 for the first delivery; greater for a replay.'),
    replayId: text.describe('The replay by time that it belongs to.'),
    acceptedAt: moment,
    state: z
      .enum([
        'delivered',
        'waiting',
        'parked',
        'replaying',
        'dead-letter',
        'replayed',
        'purged',
        'cancelled',
        'pending',
      ])
      .describe(
        '`waiting`: its job is in the queue; `parked`: it waits in the log; `replaying`: a replay by time has not come to it; `replayed`, `purged`: it was a dead letter; `pending`: an attempt failed and its job is not stored yet, or what came of it is not known.',
      ),
    waitsFor: z
      .enum(['schedule', 'retry-after', 'breaker', 'room', 'disabled', 'parked', 'replay'])
      .nullable()
      .describe(
        '`schedule`: the wait before the next attempt; `retry-after`: its endpoint asked for a later attempt, of this delivery or of its webhook; `breaker`: the breaker of its webhook or endpoint is open; `room`: it has not been attempted, since its endpoint had no room; `disabled`, `parked`: the state of its webhook; `replay`: a replay by time will come to it.',
      ),
    nextAttemptAt: moment.nullable().describe('Of a waiting delivery; `null` if it is due now or runs.'),
    reason: text.describe('Why it was given up or cancelled.'),
    lastFailure: text.describe('Outcome of the last attempt, in words.'),
    attempts: z.array(StoryAttempt).describe('Oldest first.'),
  })
  .meta({ id: 'StoryDelivery', description: 'One series of attempts at one webhook.' });
export type StoryDelivery = z.infer<typeof StoryDelivery>;

export const EnvelopeStory = z
  .object({
    id: z.guid(),
    eventType: text,
    acceptedAt: moment.nullable(),
    source: text.describe(
      'Client id of the source that sent it; `null` for a foreign producer, or when it is not known.',
    ),
    record: z
      .object({ topic: z.string(), partition: z.int(), offset: z.int(), at: moment.describe('When Kafka stored it.') })
      .nullable()
      .describe('Where it stands in Kafka; `null` when the log no longer has it.'),
    mark: z
      .enum(['published', 'settled'])
      .nullable()
      .describe(
        '`published`: it is in Kafka, no worker has settled it yet; `settled`: each delivery has ended or is stored.',
      ),
    repeats: z
      .object({
        duplicates: z.int().describe('How often it came again with the same content, and was dropped.'),
        conflicts: z.int().describe('How often other content came with its id, and was refused.'),
      })
      .nullable()
      .describe('Of the last 8 days, as far as they were counted; `null` while Redis is away.'),
    deliveries: z.array(StoryDelivery).describe('By webhook, and each in order.'),
    incomplete: z.array(z.enum(INCOMPLETE_PARTS)).describe('The parts that are away: what they know is missing.'),
  })
  .meta({ id: 'EnvelopeStory', description: 'What became of an envelope.' });
export type EnvelopeStory = z.infer<typeof EnvelopeStory>;

/** Returns the story for users who may not read envelopes. Answers are removed, because they may repeat what was sent. */
export const withoutAnswers = (story: EnvelopeStory): EnvelopeStory => ({
  ...story,
  deliveries: story.deliveries.map((delivery) => ({
    ...delivery,
    attempts: delivery.attempts.map((attempt) => ({ ...attempt, answer: null, answerHeaders: null })),
  })),
});

/** A caller's hint for finding an envelope in the log: its type, and about when it was accepted, to within a minute. */
export type EnvelopeClue = Omit<SoughtEnvelope, 'envelopeId'>;

/** Hint for finding an envelope that was never attempted: for such an envelope, no store knows when it was accepted. */
export const ClueQuery = z
  .strictObject({
    type: eventTypeName('known').optional().describe('Its event type.'),
    around: z.iso.datetime({ offset: true }).optional().describe('About when it was accepted, to within a minute.'),
  })
  .refine(({ type, around }) => (type === undefined) === (around === undefined), 'type and around go together');

export const clueOf = ({ type, around }: z.infer<typeof ClueQuery>): EnvelopeClue | undefined =>
  type === undefined || around === undefined ? undefined : { eventType: type, acceptedAt: Date.parse(around) };

/** A webhook that waits for the envelope's record in the log, because the webhook is parked or in a replay by time. */
export interface RangeFacts {
  readonly webhookId: string;
  /** 0 for a parked webhook. */
  readonly series: number;
}

export type Bar = 'breaker' | 'retry-after';

/** A webhook in its current state. */
export interface StoryWebhook {
  readonly id: string;
  readonly partnerId: string;
  readonly origin: string;
  readonly endpoint: string;
  readonly breakerKey: string;
  readonly status: 'active' | 'parked' | 'disabled';
}

/**
 * @property barredBy why no attempt may be made now: the breaker is open, or the endpoint asked for attempts only after a
 *   time that has not come
 */
export type WebhookFacts = Pick<StoryWebhook, 'partnerId' | 'origin' | 'status'> & {
  readonly barredBy: Bar | undefined;
};

/** An attempt from the log or from the index. */
export type LoggedAttempt = AttemptRecord & { readonly host?: string | undefined };

/** The known facts of one envelope. */
export interface StoryFacts {
  readonly id: string;
  readonly mark: { readonly state: 'published' | 'settled'; readonly hash: string } | undefined;
  readonly repeats: { readonly duplicates: number; readonly conflicts: number } | undefined;
  readonly attempts: readonly LoggedAttempt[];
  readonly pending: readonly PendingDelivery[];
  /** From the history, which does not have the content hash that is part of a delivery's id. */
  readonly delivered: readonly DeliveredLine[];
  readonly record: FoundEnvelope | undefined;
  readonly ranges: readonly RangeFacts[];
  readonly webhooks: ReadonlyMap<string, WebhookFacts>;
  /** Ids of replays by time, by `replayName`. */
  readonly replays: ReadonlyMap<string, string>;
  readonly incomplete: readonly IncompletePart[];
}

/** The webhook id in a dead letter that belongs to a whole envelope. */
const NO_WEBHOOK = '-';
/** Used as content hash if no store has the hash any more. */
const NO_HASH = '0'.repeat(16);
/**
 * Each delivery has a series number, which is 0 before any replay. For a replay of a period of time, the number is a
 * multiple of this constant. If dead letters of that replay are replayed, their series are the numbers that follow.
 */
export const SERIES_OF_REPLAY = 1_000;

export const replayName = (webhookId: string, series: number): string =>
  `${webhookId}/${series - (series % SERIES_OF_REPLAY)}`;

const timeOf = (epochMs: number): string => new Date(epochMs).toISOString();

/** Returns the story of an envelope: the deliveries to each webhook in order, with their attempts. */
export function storyOf(facts: StoryFacts): EnvelopeStory {
  const { id, mark, repeats, attempts, pending, record, incomplete } = facts;
  const waitingInLog = rangesWithoutDelivery(facts);
  const ids = new Set([
    ...attempts.map(({ deliveryId }) => deliveryId),
    ...pending.map((each) => each.id),
    ...facts.delivered.map((each) => deliveredId(each, facts.mark?.hash)),
  ]);
  const named = [...ids, ...waitingInLog].map(parseDeliveryId).filter((each) => each !== undefined);
  const inOrder = named.toSorted(
    (a, b) => a.webhookId.localeCompare(b.webhookId) || a.acceptedAt - b.acceptedAt || a.series - b.series,
  );
  const first = named.toSorted((a, b) => a.acceptedAt - b.acceptedAt)[0];
  const acceptedAt = first?.acceptedAt ?? record?.acceptedAt;
  return {
    id,
    eventType: record?.envelope.type ?? attempts[0]?.eventType ?? pending[0]?.job.eventType ?? null,
    acceptedAt: acceptedAt === undefined ? null : timeOf(acceptedAt),
    source: record?.source ?? null,
    record:
      record === undefined
        ? null
        : {
            topic: record.topic,
            partition: record.partition,
            offset: record.record.offset,
            at: timeOf(record.record.timestamp),
          },
    mark: mark?.state ?? null,
    repeats: repeats === undefined ? null : { ...repeats },
    deliveries: inOrder.map((each) => deliveryOf(facts, each, ids)),
    incomplete: [...incomplete],
  };
}

/** Returns the ids of the deliveries that will be made when their ranges of the log are caught up. */
function rangesWithoutDelivery({ id, record, ranges, attempts, pending }: StoryFacts): string[] {
  if (record === undefined) return [];
  const { acceptedAt, envelope } = record;
  const known = [...attempts.map(({ deliveryId }) => deliveryId), ...pending.map((each) => each.id)].map(
    parseDeliveryId,
  );
  return ranges
    .filter(({ webhookId, series }) => !known.some((each) => each?.webhookId === webhookId && each.series === series))
    .map(({ webhookId, series }) =>
      deliveryIdOf({ webhookId, envelopeId: id, hash: envelope.contentHash, series, acceptedAt }),
    );
}

function deliveryOf(facts: StoryFacts, named: Delivery, ids: ReadonlySet<string>): StoryDelivery {
  const { webhookId, series, acceptedAt } = named;
  const id = deliveryIdOf(named);
  const pending = facts.pending.find((each) => each.id === id);
  const job = pending?.job;
  const records = facts.attempts.filter(({ deliveryId }) => deliveryId === id);
  const webhook = facts.webhooks.get(webhookId);
  const delivered = facts.delivered.find((each) => deliveredId(each, facts.mark?.hash) === id);
  const attempts = attemptsOf(facts, webhookId, records, job?.tries ?? [], delivered?.attempts ?? []);
  const isReplayed = ids.has(deliveryIdOf({ ...named, series: series + 1 }));
  return {
    id,
    webhookId: webhookId === NO_WEBHOOK ? null : webhookId,
    partnerId: (job?.partnerId ?? records.at(-1)?.partnerId ?? webhook?.partnerId) || null,
    host:
      records.findLast(({ host }) => host !== undefined)?.host ?? URL.parse(webhook?.origin ?? '')?.hostname ?? null,
    series,
    replayId: facts.replays.get(replayName(webhookId, series)) ?? null,
    acceptedAt: timeOf(acceptedAt),
    ...standing(facts, series, pending, attempts, webhook, isReplayed),
    lastFailure: job?.lastFailure ?? null,
    attempts,
  };
}

/** Returns the id of a delivery in the history. The history has no content hash, so the hash of the seen mark is used. */
export const deliveredId = ({ attempts: _attempts, ...named }: DeliveredLine, hash = NO_HASH): string =>
  deliveryIdOf({ ...named, hash });

type DeliveryState = Pick<StoryDelivery, 'state' | 'waitsFor' | 'nextAttemptAt' | 'reason'>;

/**
 * Returns the state of a delivery. A dead letter is stored before its job is removed, so if both exist, the dead letter is
 * right.
 */
function standing(
  facts: StoryFacts,
  series: number,
  pending: PendingDelivery | undefined,
  attempts: readonly StoryAttempt[],
  webhook: WebhookFacts | undefined,
  isReplayed: boolean,
): DeliveryState {
  const nothing = { waitsFor: null, nextAttemptAt: null, reason: null };
  if (pending?.letter !== undefined) return { ...nothing, state: 'dead-letter', reason: pending.letter.reason };
  if (pending !== undefined) {
    const nextAttemptAt = pending.dueAt === undefined ? null : timeOf(pending.dueAt);
    return { ...nothing, state: 'waiting', nextAttemptAt, waitsFor: reasonToWait(pending, webhook) };
  }
  const last = attempts.at(-1);
  if (last === undefined) {
    if (series > 0) return { ...nothing, state: 'replaying', waitsFor: 'replay' };
    return { ...nothing, state: 'parked', waitsFor: webhook?.status === 'disabled' ? 'disabled' : 'parked' };
  }
  if (last.outcome === null || last.outcome === 'retry') return { ...nothing, state: 'pending' };
  const { reason } = last;
  if (last.outcome !== 'dead-letter') return { ...nothing, state: last.outcome, reason };
  if (isReplayed) return { ...nothing, state: 'replayed', reason };
  // If Redis could not be read, it is unknown whether the dead letter still exists, so it is shown as one.
  return { ...nothing, state: facts.incomplete.includes('redis') ? 'dead-letter' : 'purged', reason };
}

function reasonToWait({ job, dueAt }: PendingDelivery, webhook: WebhookFacts | undefined): StoryDelivery['waitsFor'] {
  if (webhook?.status === 'disabled') return 'disabled';
  if (dueAt !== undefined && isAskedToWait(job.tries ?? [], dueAt)) return 'retry-after';
  if (webhook?.barredBy !== undefined) return webhook.barredBy;
  return job.attempts === 0 ? 'room' : 'schedule';
}

/**
 * Returns the attempts of a delivery. Each attempt is returned once, even if the log has it twice. The list of attempts in
 * the job or in the history is used for attempts that the index does not have yet. A job's list also has the attempts before
 * a replay.
 */
function attemptsOf(
  { attempts }: StoryFacts,
  webhookId: string,
  records: readonly AttemptRecord[],
  tries: readonly AttemptFacts[],
  delivered: readonly AttemptFacts[],
): StoryAttempt[] {
  const indexed = new Set(attempts.filter((each) => each.webhookId === webhookId).map(({ at }) => Date.parse(at)));
  const last = delivered.at(-1);
  const own = [...tries, ...delivered]
    .filter(({ at }) => !indexed.has(at))
    .map((each) => unindexed(each, each === last ? 'delivered' : null));
  const all = new Map(
    [...own, ...records.map(shown)].map((each) => [`${each.attempt} ${each.at} ${each.outcome}`, each]),
  );
  return [...all.values()].toSorted((a, b) => a.at.localeCompare(b.at) || (a.attempt ?? 0) - (b.attempt ?? 0));
}

/** Returns the members that the record of an attempt and the attempt in a job have in common. */
const told = (attempt: Omit<AttemptFacts, 'at'> | AttemptRecord) => ({
  durationMs: attempt.durationMs ?? null,
  status: attempt.status ?? null,
  error: attempt.error ?? null,
  detail: attempt.detail ?? null,
  answer: attempt.answer ?? null,
  answerHeaders: attempt.answerHeaders ?? null,
  timing: attempt.timing ?? null,
});

const shown = (record: AttemptRecord): StoryAttempt => ({
  at: record.at,
  attempt: record.attempt ?? null,
  ...told(record),
  outcome: record.outcome,
  reason: record.reason ?? null,
  nextAt: record.nextAt ?? null,
});

const unindexed = ({ at, ...facts }: AttemptFacts, outcome: StoryAttempt['outcome']): StoryAttempt => ({
  ...told(facts),
  at: timeOf(at),
  attempt: null,
  outcome,
  reason: null,
  nextAt: null,
});
