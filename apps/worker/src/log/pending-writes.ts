import type { SeenEntry } from '@relay/dedupe';
import { ParkedRanges, type Flush, type Parking, type PartialMark } from '@relay/progress';
import type { StoreAgain } from './log-chunk.js';

/** The results that one flush writes. */
type Taken = Pick<Flush, 'settled' | 'partial' | 'whole' | 'parking'> & { readonly repeats: readonly StoreAgain[] };

/** Results of a partition's records that are not known to be written yet. */
export class PendingWrites {
  #settled: SeenEntry[] = [];
  /** Hashes of envelopes that run, or are settled and whose mark is not confirmed yet, by id. */
  readonly #hashes = new Map<string, string>();
  readonly #partial = new Map<string, Set<string>>();
  readonly #dirty = new Set<string>();
  /** Envelopes of which the store has, or may have, a partial mark. */
  readonly #marked = new Set<string>();
  #whole: string[] = [];
  #repeats: StoreAgain[] = [];
  parked = new ParkedRanges();

  get isEmpty(): boolean {
    return this.#settled.length === 0 && this.#dirty.size === 0 && this.parked.isWritten;
  }

  /** Adds since the last flush, which Redis may have lost. */
  get repeats(): readonly StoreAgain[] {
    return this.#repeats;
  }

  /** Clears the results: the store has another position, to which they do not belong. */
  clear(parking: Parking): void {
    this.#settled = [];
    this.#hashes.clear();
    this.#partial.clear();
    this.#whole = [];
    this.#repeats = [];
    this.parked = new ParkedRanges(parking);
  }

  begun({ id, hash }: SeenEntry): void {
    this.#hashes.set(id, hash);
  }

  added(repeat: StoreAgain): void {
    this.#repeats.push(repeat);
  }

  webhookSettled(envelopeId: string, webhookId: string): void {
    const webhooks = this.#partial.get(envelopeId);
    if (webhooks === undefined) this.#partial.set(envelopeId, new Set([webhookId]));
    else webhooks.add(webhookId);
    this.#dirty.add(envelopeId);
  }

  /** Takes over a partial mark of the store. Further webhooks are added to it, and it is deleted once the envelope is settled. */
  marked({ id, webhookIds }: PartialMark): void {
    if (webhookIds.length === 0) return;
    this.#marked.add(id);
    this.#partial.set(id, new Set([...webhookIds, ...(this.#partial.get(id) ?? [])]));
  }

  settled(mark: SeenEntry): void {
    this.#settled.push(mark);
    this.#hashes.set(mark.id, mark.hash);
    this.#partial.delete(mark.id);
    if (this.#marked.delete(mark.id)) this.#whole.push(mark.id);
  }

  /** Returns the content hash of an envelope that runs, or is settled and whose mark is not confirmed yet. */
  hashOf(envelopeId: string): string | undefined {
    return this.#hashes.get(envelopeId);
  }

  /** Takes everything to write in one flush. @param next the next offset to hand out */
  take(next: number): Taken {
    const partial = [...this.#dirty].flatMap((id) => {
      const webhooks = this.#partial.get(id);
      return webhooks === undefined ? [] : [{ id, webhookIds: [...webhooks] }];
    });
    this.#dirty.clear();
    for (const mark of partial) this.#marked.add(mark.id);
    return {
      settled: this.#settled.splice(0),
      partial,
      whole: this.#whole.splice(0),
      repeats: this.#repeats.splice(0),
      parking: this.parked.take(next),
    };
  }

  written({ settled }: Pick<Taken, 'settled'>): void {
    for (const mark of settled) this.#hashes.delete(mark.id);
  }

  putBack({ settled, partial, whole, repeats, parking }: Taken): void {
    this.#settled.unshift(...settled);
    this.#whole.unshift(...whole);
    this.#repeats.unshift(...repeats);
    for (const mark of partial) this.#dirty.add(mark.id);
    if (parking !== undefined) this.parked.putBack(parking);
  }
}
