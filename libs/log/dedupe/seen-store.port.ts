import type { SeenEntry, SeenMark } from './seen-mark.js';

/**
 * The seen marks as the ingress uses them, best effort: the worker decides about deliveries. Calls reject while the store is
 * away; the caller then continues without them.
 */
export abstract class SeenStore {
  /** Returns the marks of these ids, in their order; undefined for an id without a mark in the window. */
  abstract find(ids: readonly string[]): Promise<(SeenMark | undefined)[]>;

  /** Marks ids whose envelopes Kafka has acknowledged; never changes an existing mark. */
  abstract markPublished(entries: readonly SeenEntry[]): Promise<void>;
}
