// Owns how the command line asks the operations app from elsewhere: a client of its API as an operator.
// Guarantees that operations and their types are those of docs/operations.openapi.json (generated from it), and that every
// refusal is an error that names what the app says is wrong.
// Leaves to the commands what is asked, and to `client` the API for partners and sources.
export { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from './operations.gen.js';
export { OperationsClient, OperationsRefused } from './operations-client.js';
