import type { PortalGrant } from './portal-grant.js';

/** The authenticated caller, which the guards set as `request.caller`. */
export interface Caller {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Partners a source is bound to; empty when it is bound to none. */
  readonly audience: readonly string[];
  /** Generation of its secret, only after authentication by id and secret. */
  readonly provenGeneration?: number;
  /** Of someone who came by a link of the portal. */
  readonly portal?: PortalGrant;
}
