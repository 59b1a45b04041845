import { parseDeliveryId } from '@relay/delivery';
import { shownAttempt } from '@relay/events';
import type { FoundDeadLetter } from './dead-letter-store.adapter.js';
import type { DeadLetter } from './dead-letter.js';

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
