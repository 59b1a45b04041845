import { ProblemError } from '@relay/problem';
import type { IncomingHttpHeaders } from 'node:http';
import type { BodyRule } from './route-rules.decorator.js';

export const DEFAULT_TYPES = ['application/json'];
export const DEFAULT_MAX_BYTES = 64 * 1024;

/** Whether the request has a body (RFC 9112 section 6.3). */
const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

/** Media type without its parameters, in lower case. */
export const mediaTypeOf = (headers: IncomingHttpHeaders): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Why the relay refuses the body that these headers announce, before it reads a byte; undefined when it accepts it. */
export function refusedBody(headers: IncomingHttpHeaders, rule: BodyRule | undefined): ProblemError | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity')
    return new ProblemError('unsupported-media-type', 'A body must have no content encoding.', {
      headers: { 'accept-encoding': 'identity' },
    });
  if (!hasBody(headers)) return undefined;
  const types = rule?.types ?? DEFAULT_TYPES;
  if (types.includes(mediaTypeOf(headers)))
    return Number(headers['content-length']) > (rule?.maxBytes ?? DEFAULT_MAX_BYTES) ? tooLong() : undefined;
  return new ProblemError('unsupported-media-type', `The body of this request must be ${types.join(' or ')}.`);
}

export const tooLong = (): ProblemError =>
  new ProblemError('payload-too-large', 'The body is longer than this path accepts.');
