// Owns how OpenAPI documents are made: from the decorators and zod schemas of an app's routes, with the texts of
// `@Operation`.
// Guarantees that a document does not contradict the code, and that a route, tag or body without a description is an error.
// Leaves to each app its title, its tags, its ways to authenticate, and the answers other than JSON.
export { type ApiFacts, membersOf, openApi } from './openapi.js';
export { answerOf, listOf, Operation, operationsOf, routesOf, SchemaBook } from './operation.decorator.js';
export type { ApiParts, Content, OperationText, Route, Schema } from './operation.decorator.js';
