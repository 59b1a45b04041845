import type { AccessRule, Caller } from '@relay/access';
import type { FastifyRequest } from './fastify-request.js';

export abstract class CallerFinder {
  /**
   * Undefined where the rule admits everyone, no promise where memory knows the caller. Rejects with the error to answer when the
   * caller is not admitted.
   */
  abstract callerOf(rule: AccessRule, request: FastifyRequest): Promise<Caller> | Caller | undefined;
}
