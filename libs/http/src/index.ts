// Owns the HTTP shell that every app with an API runs on: Fastify under Nest, limits of connections and bodies, rules of
// routes, quotas, and errors as problem documents (RFC 9457).
// Guarantees that a caller is known before a byte of its body is read, that bytes arrive as they were sent, that one caller
// cannot take all connections or memory, and that every error, also one of Node or the router, is a problem document.
// Leaves to the apps which routes there are, and who may call them (`CallerFinder`).
export { Access } from './access.decorator.js';
export { CallerFinder } from './caller-finder.port.js';
export { DEFAULT_TYPES, mediaTypeOf } from './body-rule.js';
export { CallerPlaces } from './caller-places.js';
export { everyAddress } from './every-address.adapter.js';
export { callerIdOf, callerOf, type FastifyReply, type FastifyRequest } from './fastify-request.js';
export type { ShellSettings } from './fastify-shell.adapter.js';
export { createHttpApp } from './http-app.adapter.js';
export { etagOf, readIfMatch } from './if-match.js';
export { KnownRoutes } from './known-routes.js';
export { linkToNext } from './link-to-next.js';
export { PartnerQuota } from './partner-quota.adapter.js';
export { Portal } from './portal.decorator.js';
export { problemOf } from './problem-of.js';
export { ProblemFilter, requestFacts } from './problem.filter.js';
export { RateLimitInterceptor } from './rate-limit.interceptor.js';
export { presentReply, presentRequest } from './present-reply.js';
export { spentHeaders, tellQuota, type Quota } from './rate-limit.js';
export { readQuery } from './read-query.js';
export { HasVersions, IgnoresUnknown, rulesOf, Waits } from './route-rules.decorator.js';
export { SharedQuota } from './shared-quota.adapter.js';
export { StrictBody, type Body } from './strict-body.decorator.js';
export { TakesBody } from './takes-body.decorator.js';
export { proxyWarning } from './trusted-proxy.js';
