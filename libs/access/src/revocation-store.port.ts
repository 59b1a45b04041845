/** One revoked access token: its `jti`, and when it would have ended, in epoch seconds. */
export interface Revocation {
  readonly jti: string;
  readonly endsAtS: number;
}

/** What was revoked after a place in the log, and the place to go on from. */
export interface RevocationPage {
  readonly revocations: readonly Revocation[];
  readonly next: string;
}

/** A log of revocations that every process reads; entries are kept at least as long as their tokens live. Rejects while away. */
export abstract class RevocationStore {
  abstract add(revocation: Revocation): Promise<void>;

  /** @param after `next` of the page before; undefined: from the beginning */
  abstract read(after: string | undefined): Promise<RevocationPage>;
}
