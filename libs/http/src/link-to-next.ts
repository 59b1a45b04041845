import type { FastifyReply, FastifyRequest } from './fastify-request.js';

/**
 * `Link` header of a page that is not the last (RFC 8288): the request once more, with where the next page begins. It is relative,
 * to be resolved against the address asked.
 * @param next undefined on the last page
 * @param options `name` of the parameter that has it; `publicUrl`: its path comes before the path asked, which a proxy cut off
 */
export function linkToNext(
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | number | undefined,
  { name = 'cursor', publicUrl = 'http://relay' } = {},
): void {
  if (next === undefined) return;
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '');
  const { pathname, searchParams } = new URL(request.url, publicUrl);
  searchParams.set(name, String(next));
  void reply.header('link', `<${prefix}${pathname}?${searchParams.toString()}>; rel="next"`);
}
