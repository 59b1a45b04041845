// Owns who may call the relay: clients (partners, sources, operators) and their scopes, access tokens (RFC 9068), sessions,
// and the guards that put `request.caller` on a request. Guarantees that secrets are stored as keyed hashes only and compared in
// constant time, that a check (of revocation too) costs no round trip for a client seen before, and that such a client is still let in while Redis
// is away. Leaves to the apps what HTTP answers look like (they write ProblemError) and when the directory is refreshed.
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
export { ClientDirectory } from './client-directory.js';
export { isSecret } from './client-secret.js';
export { ClientStore } from './client-store.port.js';
export type { ClientCommand } from './client-command.js';
export { applyClientLua, clientKeys } from './client.script.js';
export type { ClientRecord, CredentialType } from './client.js';
export { ClientRefused, Clients, type IssuedSecret, type IssuedSource, type SourceCredential } from './clients.js';
export { FailureLimiter, type FailureLimit } from './failure-limiter.adapter.js';
export { RedisClientStore } from './redis-client-store.adapter.js';
export { RedisRevocationStore } from './redis-revocation-store.adapter.js';
export { RedisSessionStore } from './redis-session-store.adapter.js';
export { RevocationStore } from './revocation-store.port.js';
export { RevokedTokens } from './revoked-tokens.js';
export { narrowScopes, SCOPES_OF, type ClientKind, type Scope } from './scope.js';
export { SCOPES, Scopes } from './scopes.decorator.js';
export { Session, SessionStore } from './session-store.port.js';
export { parseSigningKeys, type SigningKey } from './signing-keys.js';
export { SourceGuard } from './source.guard.js';
