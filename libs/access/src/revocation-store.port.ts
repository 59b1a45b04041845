import type { LoggedRevocation, Revocation } from './revocations.js';

/** What was revoked after a place in the log, and the place to go on from. */
export interface RevocationPage {
  readonly revocations: readonly LoggedRevocation[];
  readonly next: string;
}

/** A log of revocations that every process reads; entries are kept at least as long as their tokens live. Rejects while away. */
export abstract class RevocationStore {
  /**
   * Adds a revocation and takes out those it makes dispensable, both or none.
   * @param replaced their places @returns its own place
   */
  abstract add(revocation: Revocation, replaced: readonly string[]): Promise<string>;

  /** @param after `next` of the page before; undefined: from the beginning */
  abstract read(after: string | undefined): Promise<RevocationPage>;
}
