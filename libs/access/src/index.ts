// Owns who may call the relay: access tokens (RFC 9068) and what was revoked of them, sessions, and the guards that tell
// from the head of a request who its caller is. Guarantees that a check (of revocation too) costs no round trip for a client seen before, and that
// such a client is still let in while Redis is away. Leaves to `identity` who there is, and to the apps what HTTP answers look
// like (they write ProblemError).
export type { AccessRule } from './access-rule.js';
export {
  AccessTokens,
  type Revoked,
  type TokenSettings,
  type Verification,
  type VerifiedToken,
} from './access-tokens.js';
export { formDecode, readBasic, readBearer } from './authorization.js';
export { BearerGuard, headerOf, type GuardedRequest } from './bearer.guard.js';
export type { Caller } from './caller.js';
export { FailureLimiter, type FailureLimit } from './failure-limiter.adapter.js';
export { Guesses } from './guesses.port.js';
export { NetworkFailures, type SpentLimit } from './network-failures.js';
export { networksOf } from './network.js';
export { RedisRevocationStore } from './redis-revocation-store.adapter.js';
export { RedisSessionStore } from './redis-session-store.adapter.js';
export { RevocationStore } from './revocation-store.port.js';
export { Revocations, type Revocation, type SingleRevocation } from './revocations.js';
export { RevokedTokens } from './revoked-tokens.js';
export { Session, SessionStore, type Opening, type SessionLimits } from './session-store.port.js';
export { parseSigningKeys, type SigningKey } from './signing-keys.js';
export { SourceGuard } from './source.guard.js';
export { tokenProviders, type TokenConfig } from './tokens.providers.js';
