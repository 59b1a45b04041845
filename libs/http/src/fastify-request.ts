import { AsyncLocalStorage } from 'node:async_hooks';
import type { Caller } from '@relay/access';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HeldBody } from './body-budget.js';

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

export const callerIdOf = (request: FastifyRequest): string => callerOf(request).clientId;

const answers = new AsyncLocalStorage<FastifyReply>();

/** Handles a request that is the present one for what is called deep within it, and for the work that goes on after its answer. */
export const answering = <T>(reply: FastifyReply, handle: () => T): T => answers.run(reply, handle);

/** The answer to the present request, until it is sent. */
export function presentReply(): FastifyReply | undefined {
  const reply = answers.getStore();
  return reply?.sent === false ? reply : undefined;
}

export const presentRequest = (): FastifyRequest | undefined => answers.getStore()?.request;

/**
 * `Link` header of a page that is not the last (RFC 8288): the request once more, with where the next page begins. It is relative,
 * to be resolved against the address asked.
 * @param next undefined on the last page
 * @param options `name` of the parameter that has it; `publicUrl`: its path comes before the path asked, which a proxy cut off
 */
export function linkToNext(
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | number | undefined,
  { name = 'cursor', publicUrl = 'http://relay' } = {},
): void {
  if (next === undefined) return;
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '');
  const { pathname, searchParams } = new URL(request.url, publicUrl);
  searchParams.set(name, String(next));
  void reply.header('link', `<${prefix}${pathname}?${searchParams.toString()}>; rel="next"`);
}
