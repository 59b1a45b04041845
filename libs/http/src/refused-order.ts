import { ProblemError } from '@relay/problem';
import { z } from 'zod';
import type { FastifyRequest } from './fastify-request.js';
import { readIfMatch } from './if-match.js';
import { readJson, validate } from './read-json.js';

type Order = Pick<FastifyRequest, 'method' | 'headers' | 'query' | 'rawBody'> & {
  readonly routeOptions: Pick<FastifyRequest['routeOptions'], 'config'>;
};

const NOTHING = z.strictObject({});

/**
 * Refuses a request that changes or orders something and says more than its operation knows: `dryrun` for `dryRun` would be carried
 * out for real. Members that a handler reads are refused by its schema; here are parameters, the bodies that no handler reads, and
 * preconditions on what has no version (RFC 9110 section 13.1.1: the method must not be performed).
 * @throws ProblemError
 */
export function refuseUnknown({ method, headers, query, rawBody, routeOptions: { config } }: Order): void {
  if (config.access === undefined || method === 'GET' || method === 'HEAD') return;
  if (config.hasVersions !== true && readIfMatch(headers['if-match']) !== undefined)
    throw new ProblemError('precondition-failed', 'If-Match names a version, and this resource has none.');
  if (config.ignoresUnknown === true) return;
  const unknown = Object.keys(query as object);
  if (unknown.length > 0)
    throw new ProblemError('invalid-request', `The query is not valid. Not known here: ${unknown.join(', ')}.`);
  if (config.readsBody !== true && rawBody !== undefined) validate(NOTHING, readJson(rawBody));
}
