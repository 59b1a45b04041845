// Owns who may call the relay: clients, their scopes, access tokens and the guards that check them.
export type { Caller } from './caller.js';
export { narrowScopes, SCOPES_OF, type ClientKind, type Scope } from './scope.js';
export { SCOPES, Scopes } from './scopes.decorator.js';
