import type { SeenEntry } from '@relay/dedupe';
import { ParkedRanges, type Flush, type Parking, type PartialMark, type Tracker } from '@relay/progress';

/** Stores a job or dead letter again. If Redis still has it, nothing changes, because its id exists already. */
export type StoreAgain = () => Promise<void>;

/** The results that are written with one flush. */
type Taken = Pick<Flush, 'settled' | 'partial' | 'whole' | 'parking'> & { readonly repeats: readonly StoreAgain[] };

/** Results of a partition's records that are not yet confirmed as written to Redis. */
export class PendingWrites {
  #settled: SeenEntry[] = [];
  /** By envelope id: content hashes of envelopes that are in flight, or are settled but whose mark is not confirmed yet. */
  readonly #hashes = new Map<string, string>();
  readonly #partial = new Map<string, Set<string>>();
  readonly #dirty = new Set<string>();
  /** Ids of the envelopes for which Redis has, or may have, a mark of some of their webhooks. */
  readonly #marked = new Set<string>();
  #whole: string[] = [];
  #repeats: StoreAgain[] = [];
  parked = new ParkedRanges();

  get isEmpty(): boolean {
    return this.#settled.length === 0 && this.#dirty.size === 0 && this.parked.isWritten;
  }

  /** Functions that store again the jobs since the last flush, because Redis may have lost these jobs. */
  get repeats(): readonly StoreAgain[] {
    return this.#repeats;
  }

  /** Clears all results, because they do not belong to the new position in Redis. */
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

  /**
   * Adds a partial mark that Redis already has. It is extended by further webhooks, and deleted once the envelope is
   * settled.
   */
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

  /** Returns the content hash of an envelope that is in flight, or is settled but whose mark is not confirmed yet. */
  hashOf(envelopeId: string): string | undefined {
    return this.#hashes.get(envelopeId);
  }

  /** Removes and returns everything that the next flush must write. @param next next offset to dispatch */
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

/**
 * One record from its dispatch until it is settled. Its results are ignored after the reader has restarted at another
 * offset.
 */
export class PartitionRecord {
  /** The ranges at the time of the dispatch. A restart replaces them. */
  readonly #parked: ParkedRanges;
  readonly #restarts: number;

  constructor(
    private readonly offset: number,
    /**
     * Whether the record may have been dispatched before, by an earlier owner or by this worker before a restart of the
     * reader.
     */
    readonly isReadAgain: boolean,
    private readonly reader: { readonly restarts: number },
    private readonly tracker: Tracker,
    private readonly pending: PendingWrites,
  ) {
    this.#parked = pending.parked;
    this.#restarts = reader.restarts;
  }

  get #isCurrent(): boolean {
    return this.#restarts === this.reader.restarts;
  }

  /** Whether the record waits in the log for this webhook. */
  isParked(webhookId: string): boolean {
    return this.#parked.isParked(webhookId, this.offset);
  }

  /**
   * Parks the webhook from this record on. Must be called before a delivery of the record has started.
   * @param notice serialized notice to the partner, which is stored with the range
   */
  park(webhookId: string, notice?: string): void {
    this.#parked.park(webhookId, this.offset, notice);
  }

  /**
   * Marks the record as a repeat or conflict, so that parked webhooks never get it. Must be called while it is dispatched.
   */
  markDuplicate(): void {
    this.#parked.drop(this.offset);
  }

  /** Registers a stored job or dead letter of the record. It is stored again if Redis loses it before the next flush. */
  added(again: StoreAgain): void {
    if (this.#isCurrent) this.pending.added(again);
  }

  /** Marks the envelope of the record as in flight. */
  begun(entry: SeenEntry): void {
    if (this.#isCurrent) this.pending.begun(entry);
  }

  /** Adds the partial mark that Redis has for the envelope of the record. */
  marked(mark: PartialMark): void {
    if (this.#isCurrent) this.pending.marked(mark);
  }

  /** Settles the delivery to one webhook of the envelope while others are in flight. */
  webhookSettled(envelopeId: string, webhookId: string): void {
    if (this.#isCurrent) this.pending.webhookSettled(envelopeId, webhookId);
  }

  /** Settles the record. Must be called once. @param mark written for the envelope of the record, if it has one */
  settled(mark?: SeenEntry): void {
    if (!this.#isCurrent) return;
    this.tracker.settle(this.offset);
    if (mark !== undefined) this.pending.settled(mark);
  }
}
