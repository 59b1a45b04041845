import type { AccessRule, Caller } from '@relay/access';
import type { FastifyRequest } from './fastify-request.js';

export abstract class CallerFinder {
  /**
   * Returns undefined if the rule admits everyone, and no promise if memory knows the caller. Rejects with the error to answer
   * if the caller is not admitted.
   */
  abstract callerOf(rule: AccessRule, request: FastifyRequest): Promise<Caller> | Caller | undefined;
}
