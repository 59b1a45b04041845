import { parseDeliveryId } from '@relay/delivery';
import { shownAttempt } from '@relay/events';
import { DeliveryJob, NO_WEBHOOK, withBodyAside } from '@relay/jobs';
import { z } from 'zod';

/**
 * Why a delivery became a dead letter.
 * - `attempts_exhausted`: every attempt of the retry schedule failed.
 * - `horizon_passed`: the next attempt is due more than 96 hours after the acceptance.
 * - `gone`: the endpoint answered 410, so its webhook was disabled.
 * - `id_conflict`: the log has an earlier envelope with the same id and other content. The earlier envelope is delivered.
 * - `audience_unknown`: the record names partners, but none of them exists. An ingress refuses such an envelope unless Redis
 *   is unavailable. A program that writes to the topic without an ingress can also cause such a record.
 * - `handling_failed`: the relay accepted the envelope but failed to process it because of a bug.
 *
 * A delivery whose webhook was deleted does not become a dead letter. It ends as `cancelled`, without a further attempt.
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

/** A delivery that the relay gave up. It is kept for 30 days unless an operator replays or purges it earlier. */
export const DeadLetter = DeliveryJob.extend({
  reason: DeadLetterReason,
  /** Milliseconds since the epoch. */
  diedAt: z.number(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/**
 * A dead letter as it is stored in its queue. Like `StoredJob`, it has a reference instead of the body if the body is large.
 */
export const StoredDeadLetter = z.union([DeadLetter, DeadLetter.omit({ v: true, body: true }).extend(withBodyAside)]);
export type StoredDeadLetter = z.infer<typeof StoredDeadLetter>;

/** A dead letter that was read from its queue. It includes the body only if the body is small. */
export interface FoundDeadLetter {
  readonly id: string;
  readonly stored: StoredDeadLetter;
}

/**
 * Record of `relay.dead-letters` for a dead letter that an operator replayed or purged, so that a recovery does not restore
 * it. The id of a dead letter is never used for another one, so the record applies wherever it is in the log.
 */
export const DeadLetterEnding = z.object({
  v: z.literal(1),
  deliveryId: z.string(),
  ended: z.enum(['replayed', 'purged']),
  /** Epoch milliseconds. */
  at: z.number(),
  /** Ids of the deliveries that the replay made; empty for a purge. */
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
 * Returns the jobs by which a dead letter is replayed. A job has the next replay number and starts again with all attempts
 * and the whole 96 hours. A dead letter of a whole envelope, which has no webhook, becomes a job for every webhook that
 * matches now.
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

/** Maximum of earlier attempts that the history of a replayed delivery still shows. */
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
    // The series number changes because BullMQ ignores a job whose id it already has. It also tells the replays apart in
    // attempt records.
    series: letter.series + 1,
    attempts: 0,
    acceptedAt: now,
    // Kept because it is part of the delivery id. If one envelope has two dead letters from two acceptances, their replays
    // need different ids.
    waitedSince: waitedSince ?? acceptedAt,
  };
}

/** A filter for dead letters. A dead letter must match every member that is present. */
export interface DeadLetterFilter {
  readonly type?: string;
  readonly reason?: string;
  readonly webhook?: string;
  /**
   * Selects only dead letters that were given up before this time in epoch milliseconds. An operator who first counts and
   * then changes dead letters passes the same time twice, so that both requests cover the same dead letters.
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

/** Returns the ids by which an operator can select this dead letter: its own id and the id of its envelope. */
export function namesOf(letterId: string): string[] {
  const envelopeId = parseDeliveryId(letterId)?.envelopeId;
  return envelopeId === undefined ? [letterId] : [letterId, envelopeId];
}

interface Facet {
  readonly value: string;
  readonly count: number;
}

/** The facets by which dead letters are counted, each with the member that has its value. */
const FACETS = { types: 'eventType', reasons: 'reason', webhooks: 'webhookId', partners: 'partnerId' } as const;
type FacetName = keyof typeof FACETS;
const NAMES = Object.keys(FACETS) as FacetName[];

/** Number of dead letters by event type, reason, webhook and partner. Each facet lists its most frequent values. */
export type DeadLetterFacets = { readonly matched: number } & Readonly<Record<FacetName, readonly Facet[]>>;

/** Maximum of values that an answer lists for a facet. */
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

/** Returns a dead letter as lists show it. The body is left out, because the source still has the envelope. */
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
