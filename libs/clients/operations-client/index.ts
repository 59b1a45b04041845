// Owns the client with which the command line calls the operations API for an operator. Guarantees that its operations and
// their types are generated from docs/operations.openapi.json, and that every refusal becomes an error with the reason that
// the app gave. Leaves to the commands which requests they make, and to `client` the API for partners and sources.
export { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from './operations.gen.js';
export { OperationsClient, OperationsRefused } from './operations-client.js';
