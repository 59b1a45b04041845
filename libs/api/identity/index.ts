// Owns the clients of the relay (partners, sources, operators): their records, how they are created, rotated and disabled, their
// scopes, and the directory that finds them by id and credential.
// Guarantees that secrets are stored only as keyed hashes and compared in constant time, and that a client seen before is found
// without a round trip, also while Redis is away.
// Leaves to `access` which client may call which route, and to the apps when the directory is refreshed.
export { BoundedMemory, TextMemory } from './client-directory.js';
export { ClientDirectory, type ProvenClient } from './client-directory.js';
export { isSecret } from './client.js';
export { typeRefusal, TypePatterns } from './type-patterns.js';
export { ClientStore } from './redis-client-store.adapter.js';
export { clientFacts, ClientFacts, hasRole, OPERATOR_ROLES, roleOf, scopeOfRole, scopesOfRole } from './client.js';
export { narrowScopes, SCOPES_OF, ClientRefused, IssuedClient, NewClient } from './client.js';
export type { ClientCommand, ClientRecord, CredentialType, OperatorRole, ClientKind, Scope } from './client.js';
export { applyClientLua, clientKeys, clientParts } from './client.script.js';
export { clientAudit, Clients, type IssuedSecret } from './clients.js';
