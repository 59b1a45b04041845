import type { AccessRule, Caller } from '@relay/access';
import type { FastifyRequest } from './fastify-request.js';

/** Decides from the head of a request who its caller is. */
export abstract class Admission {
  /** Nobody, where the rule lets in everyone. Rejects with what is to be answered to who is not let in. */
  abstract callerOf(rule: AccessRule, request: FastifyRequest): Promise<Caller> | undefined;
}
