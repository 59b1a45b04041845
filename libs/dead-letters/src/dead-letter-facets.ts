import type { DeadLetter } from './dead-letter.js';

type Counted = Pick<DeadLetter, 'eventType' | 'reason' | 'webhookId' | 'partnerId'>;

/** How many dead letters have one value. */
export interface Facet {
  readonly value: string;
  readonly count: number;
}

/** How many dead letters there are by event type, reason, webhook and partner: the most frequent values of each. */
export interface DeadLetterFacets {
  readonly matched: number;
  readonly types: readonly Facet[];
  readonly reasons: readonly Facet[];
  readonly webhooks: readonly Facet[];
  readonly partners: readonly Facet[];
}

/** Values of a facet that an answer names. */
const MOST = 100;

/** Counts dead letters by what they have in common. */
export class FacetCounts {
  #matched = 0;
  readonly #counts = {
    types: new Map<string, number>(),
    reasons: new Map<string, number>(),
    webhooks: new Map<string, number>(),
    partners: new Map<string, number>(),
  };

  add({ eventType, reason, webhookId, partnerId }: Counted): void {
    this.#matched += 1;
    const values = { types: eventType, reasons: reason, webhooks: webhookId, partners: partnerId } as const;
    for (const name of ['types', 'reasons', 'webhooks', 'partners'] as const) {
      const counts = this.#counts[name];
      counts.set(values[name], (counts.get(values[name]) ?? 0) + 1);
    }
  }

  get facets(): DeadLetterFacets {
    const { types, reasons, webhooks, partners } = this.#counts;
    return {
      matched: this.#matched,
      types: sorted(types),
      reasons: sorted(reasons),
      webhooks: sorted(webhooks),
      partners: sorted(partners),
    };
  }
}

const sorted = (counts: ReadonlyMap<string, number>): Facet[] =>
  [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, MOST);
