import type { SeenEntry } from '@relay/dedupe';
import { ParkedRanges, type Flush, type Parking, type PartialMark, type Tracker } from '@relay/progress';

/** Stores a job or dead letter again. A repeat is harmless: its id is there already unless the store has lost it. */
export type StoreAgain = () => Promise<void>;

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

/**
 * One record that was handed out, until all of it is settled. Its outcome counts only until reading restarts elsewhere.
 */
export class PartitionRecord {
  /** Ranges that were current when the record began; a restart makes new ones. */
  readonly #parked: ParkedRanges;
  readonly #restarts: number;

  constructor(
    private readonly offset: number,
    /** Whether an earlier owner, or this worker before a restart of reading, may have handed the record out. */
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
   * Parks the webhook from this record on. Called only before a delivery of the record has begun.
   * @param notice notice to its partner, as a line that is stored with the range
   */
  park(webhookId: string, notice?: string): void {
    this.#parked.park(webhookId, this.offset, notice);
  }

  /** Marks the record as a repeat or conflict, so that no parked webhook gets it later. Called while it is handed out. */
  markDuplicate(): void {
    this.#parked.drop(this.offset);
  }

  /**
   * Adds a confirmed job or dead letter of the record. It is stored again if Redis loses its latest writes before the next flush.
   */
  added(again: StoreAgain): void {
    if (this.#isCurrent) this.pending.added(again);
  }

  /** Marks the record's envelope as running. */
  begun(entry: SeenEntry): void {
    if (this.#isCurrent) this.pending.begun(entry);
  }

  /** Takes over the partial mark that the store has of the record's envelope. */
  marked(mark: PartialMark): void {
    if (this.#isCurrent) this.pending.marked(mark);
  }

  /** Settles one webhook of the envelope while others run. */
  webhookSettled(envelopeId: string, webhookId: string): void {
    if (this.#isCurrent) this.pending.webhookSettled(envelopeId, webhookId);
  }

  /** Settles the record. Called once; `mark` is written for its envelope, if it has one. */
  settled(mark?: SeenEntry): void {
    if (!this.#isCurrent) return;
    this.tracker.settle(this.offset);
    if (mark !== undefined) this.pending.settled(mark);
  }
}
