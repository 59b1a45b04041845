import type { Caller } from '@relay/access';
import type { FastifyReply, FastifyRequest } from 'fastify';

// What the shell and the guards put on every request. A type-only file: Fastify's own interface is extended.
declare module 'fastify' {
  interface FastifyRequest {
    /** The received bytes of the body; undefined when there are none. `body` is the same. */
    rawBody: Buffer | undefined;
    /** Set by a guard; there is none on a public path. */
    caller: Caller | undefined;
  }
}

export type { FastifyReply, FastifyRequest };
