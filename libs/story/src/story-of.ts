import { deliveryId as deliveryIdOf, parseDeliveryId } from '@relay/delivery';
import { isAskedToWait, type AttemptFacts, type AttemptRecord } from '@relay/events';
import type { EnvelopeStory, IncompletePart, StoryAttempt, StoryDelivery } from './envelope-story.js';

/** A queued delivery or a dead letter. Times in epoch milliseconds. */
export interface PendingFacts {
  readonly id: string;
  readonly partnerId: string;
  readonly eventType: string;
  readonly attempts: number;
  readonly lastFailure?: string | undefined;
  readonly tries: readonly AttemptFacts[];
  /** Present for a dead letter. */
  readonly reason?: string | undefined;
  readonly dueAt?: number | undefined;
  readonly diedAt?: number | undefined;
}

/** A delivery that succeeded, as the history has it: without the hash that is part of its id. Times in epoch milliseconds. */
export interface DeliveredFacts {
  readonly envelopeId: string;
  readonly webhookId: string;
  readonly series: number;
  readonly acceptedAt: number;
  readonly attempts: readonly AttemptFacts[];
}

/** An offset of the log that waits for a webhook: parked, or in a replay by time. */
export interface RangeFacts {
  readonly webhookId: string;
  /** 0 for a parked webhook. */
  readonly series: number;
}

export type Bar = 'breaker' | 'retry-after';

/** A webhook as it is now. */
export interface WebhookFacts {
  readonly partnerId: string;
  readonly host: string | undefined;
  readonly status: 'active' | 'parked' | 'disabled';
  /** What bars attempts: `retry-after` until the time that its endpoint asked for. */
  readonly barredBy: Bar | undefined;
}

/** All that is known of one envelope. */
export interface StoryFacts {
  readonly id: string;
  readonly mark: { readonly state: 'published' | 'settled'; readonly hash: string } | undefined;
  readonly repeats: { readonly duplicates: number; readonly conflicts: number } | undefined;
  readonly attempts: readonly (AttemptRecord & { readonly host?: string | undefined })[];
  readonly pending: readonly PendingFacts[];
  readonly delivered: readonly DeliveredFacts[];
  readonly record:
    | {
        readonly topic: string;
        readonly partition: number;
        readonly offset: number;
        readonly timestamp: number;
        readonly source: string | undefined;
        readonly hash: string;
        readonly acceptedAt: number;
        readonly eventType: string;
      }
    | undefined;
  readonly ranges: readonly RangeFacts[];
  readonly webhooks: ReadonlyMap<string, WebhookFacts>;
  /** Ids of replays by time, by webhook and series as `replayName` has them. */
  readonly replays: ReadonlyMap<string, string>;
  readonly incomplete: readonly IncompletePart[];
}

/** Webhook id of a dead letter that belongs to a whole envelope. */
const NO_WEBHOOK = '-';
/** Of content that nothing tells any more. */
const NO_HASH = '0'.repeat(16);
/** A replay by time has a series that is a multiple of this; the replays of its dead letters count on from it. */
export const SERIES_OF_REPLAY = 1_000;

export const replayName = (webhookId: string, series: number): string =>
  `${webhookId}/${series - (series % SERIES_OF_REPLAY)}`;

const timeOf = (epochMs: number): string => new Date(epochMs).toISOString();

/** The story of an envelope: each webhook's deliveries in order, each with its attempts. */
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
    eventType: record?.eventType ?? attempts[0]?.eventType ?? pending[0]?.eventType ?? null,
    acceptedAt: acceptedAt === undefined ? null : timeOf(acceptedAt),
    source: record?.source ?? null,
    record:
      record === undefined
        ? null
        : { topic: record.topic, partition: record.partition, offset: record.offset, at: timeOf(record.timestamp) },
    mark: mark?.state ?? null,
    repeats: repeats === undefined ? null : { ...repeats },
    deliveries: inOrder.map((each) => deliveryOf(facts, deliveryIdOf(each), ids)),
    incomplete: [...incomplete],
  };
}

/** The ids of the deliveries that ranges of the log will make. */
function rangesWithoutDelivery({ id, record, ranges, attempts, pending }: StoryFacts): string[] {
  if (record === undefined) return [];
  const { hash, acceptedAt } = record;
  const known = [...attempts.map(({ deliveryId }) => deliveryId), ...pending.map((each) => each.id)].map(
    parseDeliveryId,
  );
  return ranges
    .filter(({ webhookId, series }) => !known.some((each) => each?.webhookId === webhookId && each.series === series))
    .map(({ webhookId, series }) => deliveryIdOf({ webhookId, envelopeId: id, hash, series, acceptedAt }));
}

function deliveryOf(facts: StoryFacts, id: string, ids: ReadonlySet<string>): StoryDelivery {
  const { webhookId, series, ...named } = parseDeliveryId(id) ?? { webhookId: NO_WEBHOOK, series: 0, acceptedAt: 0 };
  const job = facts.pending.find((each) => each.id === id);
  const records = facts.attempts.filter(({ deliveryId }) => deliveryId === id);
  const webhook = facts.webhooks.get(webhookId);
  const delivered = facts.delivered.find((each) => deliveredId(each, facts.mark?.hash) === id);
  const attempts = attemptsOf(facts, webhookId, records, job?.tries ?? [], delivered?.attempts ?? []);
  const isReplayed = ids.has(
    deliveryIdOf({ ...named, webhookId, envelopeId: facts.id, hash: hashOf(id), series: series + 1 }),
  );
  return {
    id,
    webhookId: webhookId === NO_WEBHOOK ? null : webhookId,
    partnerId: (job?.partnerId ?? records.at(-1)?.partnerId ?? webhook?.partnerId) || null,
    host: records.findLast(({ host }) => host !== undefined)?.host ?? webhook?.host ?? null,
    series,
    replayId: facts.replays.get(replayName(webhookId, series)) ?? null,
    acceptedAt: timeOf(named.acceptedAt),
    ...standing(facts, id, job, attempts, webhook, isReplayed),
    lastFailure: job?.lastFailure ?? null,
    attempts,
  };
}

/** The id of a delivery that neither log nor queue has: its content is that of the mark. */
export const deliveredId = ({ attempts: _attempts, ...named }: DeliveredFacts, hash = NO_HASH): string =>
  deliveryIdOf({ ...named, hash });

const hashOf = (id: string): string => parseDeliveryId(id)?.hash ?? '';

type Standing = Pick<StoryDelivery, 'state' | 'waitsFor' | 'nextAttemptAt' | 'reason'>;

/** A dead letter is stored before its job is removed, so where both were read the dead letter is the job. */
function standing(
  facts: StoryFacts,
  id: string,
  job: PendingFacts | undefined,
  attempts: readonly StoryAttempt[],
  webhook: WebhookFacts | undefined,
  isReplayed: boolean,
): Standing {
  const nothing = { waitsFor: null, nextAttemptAt: null, reason: null };
  if (job?.reason !== undefined) return { ...nothing, state: 'dead-letter', reason: job.reason };
  if (job !== undefined) {
    const nextAttemptAt = job.dueAt === undefined ? null : timeOf(job.dueAt);
    return { ...nothing, state: 'waiting', nextAttemptAt, waitsFor: reasonToWait(job, webhook) };
  }
  const last = attempts.at(-1);
  if (last === undefined) {
    const isReplay = (parseDeliveryId(id)?.series ?? 0) > 0;
    if (isReplay) return { ...nothing, state: 'replaying', waitsFor: 'replay' };
    return { ...nothing, state: 'parked', waitsFor: webhook?.status === 'disabled' ? 'disabled' : 'parked' };
  }
  if (last.outcome === null || last.outcome === 'retry') return { ...nothing, state: 'pending' };
  const { reason } = last;
  if (last.outcome !== 'dead-letter') return { ...nothing, state: last.outcome, reason };
  if (isReplayed) return { ...nothing, state: 'replayed', reason };
  // Without the queues nobody can tell whether it still is one.
  return { ...nothing, state: facts.incomplete.includes('redis') ? 'dead-letter' : 'purged', reason };
}

function reasonToWait(
  { attempts, tries, dueAt }: PendingFacts,
  webhook: WebhookFacts | undefined,
): StoryDelivery['waitsFor'] {
  if (webhook?.status === 'disabled') return 'disabled';
  if (dueAt !== undefined && isAskedToWait(tries, dueAt)) return 'retry-after';
  if (webhook?.barredBy !== undefined) return webhook.barredBy;
  return attempts === 0 ? 'room' : 'schedule';
}

/**
 * The attempts of a delivery, each once: the log is written at least once, and a job has its own list of them, those before a
 * replay included, which counts where the index has not come to them.
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

/** What a record of the log and the facts of a job say alike. */
const told = ({
  durationMs,
  status,
  error,
  detail,
  answer,
  answerHeaders,
  timing,
}: Omit<AttemptFacts, 'at'> | AttemptRecord) => ({
  durationMs: durationMs ?? null,
  status: status ?? null,
  error: error ?? null,
  detail: detail ?? null,
  answer: answer ?? null,
  answerHeaders: answerHeaders ?? null,
  timing: timing ?? null,
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
