// The ingress' HTTP shell serves this app too: bytes as they came, problems as RFC 9457, security headers, request ids.
// What of it is used here is named in this file alone.
import { IngressEnv } from '../../../ingress/src/ingress.config.js';

export { everyAddress } from '../../../ingress/src/http/every-address.adapter.js';
export { createHttpApp } from '../../../ingress/src/http/http-app.js';
export { callerIdOf, type FastifyReply, type FastifyRequest } from '../../../ingress/src/http/fastify-request.js';
export { KnownRoutes } from '../../../ingress/src/http/known-routes.js';
export { ProblemFilter } from '../../../ingress/src/http/problem.filter.js';
export { problemOf } from '../../../ingress/src/http/problem-of.js';
export { readJson, validate } from '../../../ingress/src/http/read-json.js';
export { DirectoryRefresh } from '../../../ingress/src/oauth/directory-refresh.js';
export { proxyWarning } from '../../../ingress/src/http/trusted-proxy.js';

const { TRUST_PROXY, MAX_CONNECTIONS, MAX_BUFFERED_BYTES } = IngressEnv.shape;
export const shellEnv = { TRUST_PROXY, MAX_CONNECTIONS, MAX_BUFFERED_BYTES };
