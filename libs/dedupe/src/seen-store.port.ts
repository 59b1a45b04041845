import type { SeenEntry, SeenMark } from './seen-mark.js';

/**
 * What the ingress asks and tells of envelope ids. All of it is best effort: the worker decides what is delivered.
 * Rejects when the store cannot be reached; the caller then goes on without.
 */
export abstract class SeenStore {
  /** The marks of these ids, in their order; undefined where an id has not been seen inside the window. */
  abstract find(ids: readonly string[]): Promise<(SeenMark | undefined)[]>;

  /** Remembers ids whose envelopes Kafka has acknowledged; never changes a mark that is there. */
  abstract markPublished(entries: readonly SeenEntry[]): Promise<void>;
}
