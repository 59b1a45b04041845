import type { Caller } from '@relay/access';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HeldBody } from './held-body.js';

// What the shell and the guards put on every request: Fastify's own interface is extended.
declare module 'fastify' {
  interface FastifyRequest {
    /** The received bytes of the body; undefined when there are none. `body` is the same. */
    rawBody: Buffer | undefined;
    /** What `rawBody` takes of the budget, until the request is answered. */
    heldBody: HeldBody | undefined;
    /** Set before the body is read; there is none on a public path. */
    caller: Caller | undefined;
    /** Set once the envelope that it brings was read; for the log. */
    envelopeId: string | undefined;
  }
}

export type { FastifyReply, FastifyRequest };

/** Who calls, on a path that is not public. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error('This path lets in everyone');
  return caller;
}

/** Client id of the caller on a path that is not public. */
export const callerIdOf = (request: FastifyRequest): string => callerOf(request).clientId;
