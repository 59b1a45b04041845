/** Who sent a request, as the guards found it: put on `request.caller`. */
export interface Caller {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Partners a source is bound to; empty when it is bound to none. */
  readonly audience: readonly string[];
  /** Generation of the secret that it has shown; only where it was let in by its id and secret. */
  readonly provenGeneration?: number;
}
