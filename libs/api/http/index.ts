// Owns the HTTP shell on which every app with an API runs: Fastify under Nest, limits of connections and bodies, rules of
// routes, quotas, and errors as problem documents (RFC 9457).
// Guarantees that a caller is known before a byte of its body is read, that bodies arrive as they were sent, that no caller
// can take all connections or memory, and that every error is a problem document, also an error of Node or the router.
// Leaves to the apps the routes, and the decision who may call them (`CallerFinder`).
export { Access, Portal, HasVersions, IgnoresUnknown, rulesOf, Waits, StrictBody } from './route-rules.decorator.js';
export { TakesBody } from './route-rules.decorator.js';
export type { Body } from './route-rules.decorator.js';
export { CallerFinder } from './fastify-request.js';
export { DEFAULT_TYPES, mediaTypeOf } from './body-reader.js';
export { CallerPlaces } from './connections.js';
export { everyAddress, proxyWarning, createHttpApp } from './http-app.adapter.js';
export { callerIdOf, callerOf, linkToNext, presentReply, presentRequest } from './fastify-request.js';
export type { FastifyReply, FastifyRequest } from './fastify-request.js';
export type { ShellSettings } from './fastify-shell.adapter.js';
export { etagOf, readIfMatch, readQuery } from './fastify-request.js';
export { KnownRoutes, problemOf, ProblemFilter, requestFacts } from './problem.filter.js';
export { PartnerQuota, RateLimitInterceptor, spentHeaders, tellQuota, SharedQuota } from './quotas.adapter.js';
export type { Quota } from './quotas.adapter.js';
