// The client with which the command line calls the operations API for an operator. Its operations and their types are
// generated from docs/operations.openapi.json. Every refusal becomes an error with the reason that the app gave. The
// commands choose the requests. `client` is the client of the API for partners and sources.
export { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from './operations.gen.js';
export { OperationsClient, OperationsRefused } from './operations-client.js';
