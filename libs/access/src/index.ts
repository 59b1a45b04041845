// Owns who may call the relay: access tokens (RFC 9068), their revocation, sessions, and the guards that find the caller of a
// request in its headers.
// Guarantees that a check, of revocation too, costs no round trip for a client seen before, and that such a client is still let
// in while Redis is away.
// Leaves to `identity` which clients there are, and to the apps the HTTP answers (they write ProblemError).
export type { AccessRule } from './access-rule.js';
export { AccessTokens, holderOf, type VerifiedToken } from './access-tokens.js';
export { formDecode, readBasic, readBearer } from './authorization.js';
export { BearerGuard, clientBehind, headerOf, type GuardedRequest } from './bearer.guard.js';
export type { Caller } from './caller.js';
export { FailureLimiter } from './failure-limiter.adapter.js';
export { Guesses } from './guesses.port.js';
export { NetworkFailures, type SpentLimit } from './network-failures.js';
export { isStillGranted, PortalAccess, roleToGrant, type PortalGrant, type PortalRule } from './portal-grant.js';
export { PortalLinkAnswer, portalLinkOf, PortalLinkRequest, portalUrl } from './portal-link-request.js';
export { PortalLinks, type PortalLink } from './portal-links.adapter.js';
export { RedisRevocationStore } from './redis-revocation-store.adapter.js';
export { RedisSessionStore } from './redis-session-store.adapter.js';
export { RevokedTokens } from './revoked-tokens.js';
export { Session, SessionStore } from './session-store.port.js';
export { parseSigningKeys } from './signing-keys.js';
export { SourceGuard } from './source.guard.js';
export { tokenProviders, type TokenConfig } from './tokens.providers.js';
