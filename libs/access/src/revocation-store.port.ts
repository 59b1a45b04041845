import type { LoggedRevocation, Revocation } from './revocations.js';

/** Revocations after a place in the log, and the place of the next read. */
export interface RevocationPage {
  readonly revocations: readonly LoggedRevocation[];
  readonly next: string;
}

/** A log of revocations that every process reads. An entry lives at least as long as its tokens. Rejects while the store is away. */
export abstract class RevocationStore {
  /**
   * Adds a revocation and deletes those that it replaces, both or none.
   * @param replaced their places @returns its own place
   */
  abstract add(revocation: Revocation, replaced: readonly string[]): Promise<string>;

  /** @param after `next` of the page before; undefined: from the beginning */
  abstract read(after: string | undefined): Promise<RevocationPage>;
}
