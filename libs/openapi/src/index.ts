// Owns how OpenAPI documents are made: what decorators and zod schemas say of the routes of an app, and `@Operation`, which
// says the rest.
// Guarantees that a document cannot contradict the code, and that a route, tag or body without a description is an error.
// Leaves to each app its title, its tags, its ways to authenticate, and the answers of routes that are no JSON.
export { type ApiFacts, membersOf, openApi } from './openapi.js';
export {
  type ApiParts,
  type Content,
  LINK,
  Operation,
  operationsOf,
  type OperationText,
} from './operation.decorator.js';
export { type Route, routesOf } from './routes.adapter.js';
export { type Schema, SchemaBook } from './schema-book.js';
