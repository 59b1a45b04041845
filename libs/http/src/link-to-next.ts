import type { FastifyReply, FastifyRequest } from './fastify-request.js';

/**
 * `Link` header of a page that is not the last (RFC 8288): the request once more, with where the next page begins. It is relative,
 * to be resolved against the address asked.
 * @param next undefined on the last page
 */
export function linkToNext(
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | undefined,
  name = 'cursor',
): void {
  if (next === undefined) return;
  const { pathname, searchParams } = new URL(request.url, 'http://relay');
  searchParams.set(name, next);
  void reply.header('link', `<${pathname}?${searchParams.toString()}>; rel="next"`);
}
