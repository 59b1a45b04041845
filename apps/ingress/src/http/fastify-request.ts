import type { Caller } from '@relay/access';
import type { FastifyReply, FastifyRequest } from 'fastify';

// What the shell and the guards put on every request: Fastify's own interface is extended.
declare module 'fastify' {
  interface FastifyRequest {
    /** The received bytes of the body; undefined when there are none. `body` is the same. */
    rawBody: Buffer | undefined;
    /** Set by a guard; there is none on a public path. */
    caller: Caller | undefined;
    /** Set once the envelope that it brings was read; for the log. */
    envelopeId: string | undefined;
  }
}

export type { FastifyReply, FastifyRequest };

/** Client id of the caller on a path that a guard stands before. */
export function callerIdOf({ caller }: FastifyRequest): string {
  if (caller === undefined) throw new Error('No guard let this request in');
  return caller.clientId;
}
