import { ProblemError } from '@relay/problem';
import type { IncomingHttpHeaders } from 'node:http';
import type { BodyRule } from './route-rules.decorator.js';

export const DEFAULT_TYPES = ['application/json'];
export const DEFAULT_MAX_BYTES = 64 * 1024;

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
  const announced = Number(headers['content-length'] ?? 0);
  // Of a chunked request the first byte shows whether it has a body (RFC 9112 section 6.3): `BodyReader` looks then.
  if (announced === 0) return undefined;
  return refusedType(headers, rule) ?? (announced > (rule?.maxBytes ?? DEFAULT_MAX_BYTES) ? tooLong() : undefined);
}

/** Why the relay does not accept a body of this media type; undefined when it does. */
export function refusedType(headers: IncomingHttpHeaders, rule: BodyRule | undefined): ProblemError | undefined {
  const types = rule?.types ?? DEFAULT_TYPES;
  if (types.includes(mediaTypeOf(headers))) return undefined;
  const { jsonBeside } = rule ?? {};
  if (headers['content-type'] === undefined && jsonBeside !== undefined && headers[jsonBeside] !== undefined)
    return undefined;
  return new ProblemError('unsupported-media-type', `The body of this request must be ${types.join(' or ')}.`);
}

export const tooLong = (): ProblemError =>
  new ProblemError('payload-too-large', 'The body is longer than this path accepts.');
