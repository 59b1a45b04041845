import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { z } from 'zod';
import type { FastifyRequest } from './fastify-request.js';
import { readJson, validate } from './read-json.js';
import { addRules } from './route-rules.decorator.js';

/**
 * Reads the JSON body of the request.
 * @throws ProblemError `malformed-json`, or `invalid-body` with one entry for each invalid member
 */
export type Body<T> = () => T;

/**
 * The body of a management request, as its schema says. The handler decides when to read it, so that faults of the path and a
 * spent quota are reported before faults of the body.
 * @param presence `optional`: a request without a body counts as one with an empty object
 */
export const StrictBody = (schema: z.ZodType, presence: 'required' | 'optional' = 'required'): ParameterDecorator => {
  const read = createParamDecorator((_data: unknown, context: ExecutionContext): Body<unknown> => {
    const { rawBody } = context.switchToHttp().getRequest<FastifyRequest>();
    return () => validate(schema, presence === 'optional' && rawBody === undefined ? {} : readJson(rawBody));
  })();
  return (controller, name, index) => {
    if (name !== undefined) addRules((controller as Record<string | symbol, object>)[name] ?? {}, { readsBody: true });
    read(controller, name, index);
  };
};
