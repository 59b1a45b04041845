import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { linkToNext, readQuery, type FastifyReply, type FastifyRequest } from '@relay/http';
import { Operation, type OperationText } from '@relay/openapi';
import { z } from 'zod';

/** Returns a decorator that adds OpenAPI documentation with the given tag to a route handler. */
export const textsOf =
  (tag: string) =>
  (id: string, summary: string, rest: Omit<OperationText, 'id' | 'tag' | 'summary'>): MethodDecorator =>
    Operation({ id, tag, summary, ...rest });

export { answerOf, listOf } from '@relay/openapi';

/** Parsed request for one page of a list. */
export interface Asked<Query> {
  readonly query: Query;
  /**
   * Sets the `Link` header to the next page.
   * @param next undefined on the last page
   * @param name query parameter for `next`
   */
  readonly linkTo: (next: string | number | undefined, name?: string) => void;
}

/** Injects the parsed query of a list. @throws ProblemError `invalid-request` */
export const ListQuery = (schema: z.ZodType): ParameterDecorator =>
  createParamDecorator((_data: unknown, context: ExecutionContext): Asked<unknown> => {
    const http = context.switchToHttp();
    const [request, reply] = [http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()];
    return {
      query: readQuery(schema, request.query),
      linkTo: (next, name = 'cursor') => linkToNext(request, reply, next, { name }),
    };
  })();

/** Query parameter for a list that is always read as a whole. Its value is the number of entries on the previous pages. */
export const cursor = z.coerce
  .number()
  .int()
  .min(0)
  .max(1_000_000_000)
  .default(0)
  .describe('Where the page begins; out of the Link header of the page before.');

/** Returns one page of a list that was read as a whole, and sets the `Link` header. */
export function pageOf<T>(
  all: readonly T[],
  { query, linkTo }: Asked<{ readonly cursor: number; readonly limit: number }>,
): T[] {
  const end = query.cursor + query.limit;
  linkTo(end < all.length ? end : undefined);
  return all.slice(query.cursor, end);
}
