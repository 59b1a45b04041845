// Owns who may call the relay: access tokens (RFC 9068), their revocation, sessions, and the guards that find the caller of
// a request in its headers.
// Guarantees that no check, including the check for revocation, needs a round trip for a client that was seen before, and
// that such a client is still admitted while Redis does not answer.
// Leaves to `identity` the clients, and to the apps the HTTP answers.
export { formDecode, readBasic, readBearer, BearerGuard, clientBehind, headerOf } from './callers.guard.js';
export { SourceGuard } from './callers.guard.js';
export type { AccessRule, GuardedRequest, Caller } from './callers.guard.js';
export { AccessTokens, holderOf, parseSigningKeys, type VerifiedToken } from './access-tokens.js';
export { FailureLimiter, hiddenKey, NetworkFailures, sharedLimiter } from './failure-limiter.adapter.js';
export type { FailureLimit, SpentLimit } from './failure-limiter.adapter.js';
export { Guesses } from './callers.guard.js';
export { isStillGranted, PortalAccess, roleToGrant, type PortalGrant, type PortalRule } from './access-tokens.js';
export { OneTimeCodes, PortalLinkAnswer, portalLinkOf, PortalLinkRequest } from './portal-links.adapter.js';
export { portalUrl, PortalLinks } from './portal-links.adapter.js';
export type { PortalLink } from './portal-links.adapter.js';
export { RedisRevocationStore, RevokedTokens } from './revoked-tokens.adapter.js';
export { Session, SessionStore } from './redis-session-store.adapter.js';
export { tokenProviders, type TokenConfig } from './tokens.providers.js';
