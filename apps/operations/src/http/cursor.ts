import { linkToNext, type FastifyReply, type FastifyRequest } from '@relay/http';
import { z } from 'zod';

/** The parameter of a list that is read as a whole: how many of it came on the pages before. */
export const cursor = z.coerce
  .number()
  .int()
  .min(0)
  .max(1_000_000_000)
  .default(0)
  .describe('Where the page begins; out of the Link header of the page before.');

/** A page of such a list, with its `Link`. */
export function pageOf<T>(
  all: readonly T[],
  asked: { readonly cursor: number; readonly limit: number },
  request: FastifyRequest,
  reply: FastifyReply,
): T[] {
  const end = asked.cursor + asked.limit;
  linkToNext(request, reply, end < all.length ? end : undefined);
  return all.slice(asked.cursor, end);
}
