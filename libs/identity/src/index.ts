// Owns the clients of the relay (partners, sources, operators): what is kept of them, how they are made, rotated and disabled, their
// scopes, and the directory that knows them by id and credential. Guarantees that secrets are stored as keyed hashes only and
// compared in constant time, and that a client seen before is known without a round trip, also while Redis is away. Leaves to
// `access` who may call what, and to the apps when the directory is refreshed.
export { BoundedMemory } from './bounded-memory.js';
export { ClientDirectory, type ProvenClient } from './client-directory.js';
export { isSecret } from './client-secret.js';
export { ClientStore } from './client-store.port.js';
export type { ClientCommand } from './client-command.js';
export { applyClientLua, clientKeys, clientParts } from './client.script.js';
export type { ClientRecord, CredentialType } from './client.js';
export { ClientRefused, Clients, type IssuedSecret, type IssuedSource, type SourceCredential } from './clients.js';
export { RedisClientStore } from './redis-client-store.adapter.js';
export { narrowScopes, SCOPES_OF, type ClientKind, type Scope } from './scope.js';
