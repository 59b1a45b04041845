import type { PortalGrant } from './portal-grant.js';

/** The authenticated caller, which the guards set as `request.caller`. */
export interface Caller {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Partners a source is bound to; empty when it is bound to none. */
  readonly audience: readonly string[];
  /** Of the secret behind its credential: what the caller makes with it ends with it. A fixed credential has none. */
  readonly generation?: number;
  /** Of someone who came by a link of the portal. */
  readonly portal?: PortalGrant;
}
