import { parseDeliveryId } from '@relay/delivery';
import { shownAttempt } from '@relay/events';
import { DeliveryJob, NO_WEBHOOK, withBodyAside } from '@relay/jobs';
import { z } from 'zod';

/**
 * Why a delivery is a dead letter.
 * - `attempts_exhausted`: every attempt of the schedule failed.
 * - `horizon_passed`: no further attempt fits into the 96 hours after acceptance.
 * - `gone`: the endpoint answered 410; its webhook is disabled.
 * - `id_conflict`: the log holds another content under the same envelope id; the first one wins.
 * - `audience_unknown`: the record names partners, and none of them exists. Only foreign producers can write it, or a source while
 *   Redis is away.
 * - `handling_failed`: an accepted envelope could not be handled, a fault of ours.
 *
 * A delivery whose webhook was deleted meanwhile is no dead letter: it ends as `cancelled`, before any attempt.
 */
export const DeadLetterReason = z.enum([
  'attempts_exhausted',
  'horizon_passed',
  'gone',
  'id_conflict',
  'audience_unknown',
  'handling_failed',
]);
export type DeadLetterReason = z.infer<typeof DeadLetterReason>;

/** A delivery that was given up, kept for 30 days unless an operator replays or purges it first. */
export const DeadLetter = DeliveryJob.extend({
  reason: DeadLetterReason,
  /** Milliseconds since the epoch. */
  diedAt: z.number(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/** A dead letter as its queue holds it; see `StoredJob`. */
export const StoredDeadLetter = z.union([DeadLetter, DeadLetter.omit({ v: true, body: true }).extend(withBodyAside)]);
export type StoredDeadLetter = z.infer<typeof StoredDeadLetter>;

/** A dead letter without its body, unless the body is small. */
export interface FoundDeadLetter {
  readonly id: string;
  readonly stored: StoredDeadLetter;
}

/**
 * Record of `relay.dead-letters` for a dead letter that an operator ended, so that a recovery does not bring it back. The id of
 * a dead letter names the acceptance of its envelope and is never used again, so its ending counts wherever it is in the log.
 */
export const DeadLetterEnding = z.object({
  v: z.literal(1),
  deliveryId: z.string(),
  ended: z.enum(['replayed', 'purged']),
  /** Epoch milliseconds. */
  at: z.number(),
  /** Ids of the deliveries that a replay made of it. */
  deliveries: z.array(z.string()),
});
export type DeadLetterEnding = z.infer<typeof DeadLetterEnding>;

export interface WebhookFinder {
  find(id: string): { readonly partnerId: string } | undefined;
  matching(
    eventType: string,
    audience: readonly string[],
  ): readonly { readonly id: string; readonly partnerId: string }[];
}

type DeadLetterReplay =
  | { readonly kind: 'replay'; readonly jobs: readonly DeliveryJob[] }
  /** `why` tells the operator what to do instead. */
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Returns the jobs that a replay makes of a dead letter: its delivery under the next replay number, with all attempts and the
 * whole horizon. The dead letter of a whole envelope goes to every webhook that matches now.
 * @param now epoch milliseconds
 */
export function replayOf(letter: DeadLetter, webhooks: WebhookFinder, now: number): DeadLetterReplay {
  if (letter.body === '')
    return refused('Redis has lost the body: have the source send the envelope under a new id, then purge it');
  if (letter.webhookId !== NO_WEBHOOK) {
    const webhook = webhooks.find(letter.webhookId);
    if (webhook === undefined) return refused('its webhook was deleted: purge it');
    return { kind: 'replay', jobs: [jobOf(letter, letter.webhookId, webhook.partnerId, now)] };
  }
  if (letter.reason === 'id_conflict')
    return refused(
      'its envelope id was first used with other content, which endpoints already have: send this content under a new id, then purge it',
    );
  const audience = letter.partnerId === '' ? [] : letter.partnerId.split(',');
  const matching = webhooks.matching(letter.eventType, audience);
  if (matching.length === 0) return refused('no webhook matches it now: register one, or purge it');
  return { kind: 'replay', jobs: matching.map(({ id, partnerId }) => jobOf(letter, id, partnerId, now)) };
}

/** Earlier attempts that a replayed delivery still shows. */
const KEPT_TRIES = 50;

const refused = (why: string): DeadLetterReplay => ({ kind: 'refused', why });

function jobOf(letter: DeadLetter, webhookId: string, partnerId: string, now: number): DeliveryJob {
  const { v, envelopeId, eventType, hash, acceptedAt, waitedSince, traceparent, tries, body } = letter;
  return {
    v,
    webhookId,
    partnerId,
    envelopeId,
    eventType,
    hash,
    body,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(tries === undefined ? {} : { tries: tries.slice(-KEPT_TRIES) }),
    // The series is new: BullMQ ignores an add under an id that it holds, and records of attempts must tell the replays apart.
    series: letter.series + 1,
    attempts: 0,
    acceptedAt: now,
    // Time of the acceptance, so that the replays of two dead letters of one envelope are two deliveries.
    waitedSince: waitedSince ?? acceptedAt,
  };
}

/** Selects dead letters by these members; absent members select all. */
export interface DeadLetterFilter {
  readonly type?: string;
  readonly reason?: string;
  readonly webhook?: string;
  /**
   * Only deliveries given up before this time, in epoch milliseconds, so that a count and the change after it cover the same
   * ones.
   */
  readonly until?: number;
}

export const isEmpty = ({ type, reason, webhook }: DeadLetterFilter): boolean =>
  type === undefined && reason === undefined && webhook === undefined;

export const matches = (
  letter: Pick<DeadLetter, 'eventType' | 'reason' | 'webhookId' | 'diedAt'>,
  { type, reason, webhook, until = Infinity }: DeadLetterFilter,
): boolean =>
  letter.diedAt < until &&
  (type === undefined || letter.eventType === type) &&
  (reason === undefined || letter.reason === reason) &&
  (webhook === undefined || letter.webhookId === webhook.toLowerCase());

/** Returns the ids by which an operator can select this dead letter: its own, and that of its envelope. */
export function namesOf(letterId: string): string[] {
  const envelopeId = parseDeliveryId(letterId)?.envelopeId;
  return envelopeId === undefined ? [letterId] : [letterId, envelopeId];
}

interface Facet {
  readonly value: string;
  readonly count: number;
}

/** Facets by which dead letters are counted, each with its member. */
const FACETS = { types: 'eventType', reasons: 'reason', webhooks: 'webhookId', partners: 'partnerId' } as const;
type FacetName = keyof typeof FACETS;
const NAMES = Object.keys(FACETS) as FacetName[];

/** Number of dead letters by event type, reason, webhook and partner: the most frequent values of each. */
export type DeadLetterFacets = { readonly matched: number } & Readonly<Record<FacetName, readonly Facet[]>>;

/** Values of a facet that an answer names. */
const MOST = 100;

export class FacetCounts {
  #matched = 0;
  readonly #counts = new Map(NAMES.map((name) => [name, new Map<string, number>()]));

  add(letter: Pick<DeadLetter, (typeof FACETS)[FacetName]>): void {
    this.#matched += 1;
    for (const [name, counts] of this.#counts) {
      const value = letter[FACETS[name]];
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }

  get facets(): DeadLetterFacets {
    const facets = Object.fromEntries([...this.#counts].map(([name, counts]) => [name, sorted(counts)]));
    return { matched: this.#matched, ...(facets as Record<FacetName, Facet[]>) };
  }
}

const sorted = (counts: ReadonlyMap<string, number>): Facet[] =>
  [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, MOST);

const timeOf = (at: number): string => new Date(at).toISOString();

/** Returns a dead letter as lists show it: without its body, the envelope, which its source has. */
export const deadLetterFacts = ({ id, stored: { tries: [...tries] = [], ...letter } }: FoundDeadLetter) => ({
  id,
  envelopeId: letter.envelopeId,
  webhookId: letter.webhookId,
  partnerId: letter.partnerId,
  eventType: letter.eventType,
  reason: letter.reason,
  lastFailure: letter.lastFailure,
  lastAttempt: tries.map(shownAttempt).at(-1),
  attempts: letter.attempts,
  series: letter.series,
  acceptedAt: timeOf(letter.acceptedAt),
  diedAt: timeOf(letter.diedAt),
});

export type DeadLetterFacts = ReturnType<typeof deadLetterFacts>;
