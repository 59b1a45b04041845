// Owns the client with which the command line calls the operations API as an operator.
// Guarantees that operations and their types are those of docs/operations.openapi.json (generated from it), and that every
// refusal is an error that names what the app says is wrong.
// Leaves to the commands the choice of requests, and to `client` the API for partners and sources.
export { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from './operations.gen.js';
export { OperationsClient, OperationsRefused } from './operations-client.js';
