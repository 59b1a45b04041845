import type { Caller } from '@relay/access';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HeldBody } from './held-body.js';

// Extends Fastify’s request by what the shell and the guards set on it.
declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body; undefined when there are none. `body` is the same. */
    rawBody: Buffer | undefined;
    /** The share of the body budget that `rawBody` uses until the answer. */
    heldBody: HeldBody | undefined;
    /** Set before the shell reads the body; undefined on a public path. */
    caller: Caller | undefined;
    /** Set when the envelope in the body is read; for the log. */
    envelopeId: string | undefined;
  }
}

export type { FastifyReply, FastifyRequest };

/** The caller on a path that is not public. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error('This path lets in everyone');
  return caller;
}

/** Client id of the caller on a path that is not public. */
export const callerIdOf = (request: FastifyRequest): string => callerOf(request).clientId;
