import { AsyncLocalStorage } from 'node:async_hooks';
import type { Caller } from '@relay/access';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HeldBody } from './body-reader.js';

// Extends Fastify’s request by the members that the shell and the guards set.
declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body, also in `body`; undefined if there are none. */
    rawBody: Buffer | undefined;
    /** The share of the body budget that `rawBody` uses until the answer. */
    heldBody: HeldBody | undefined;
    /** Set before the shell reads the body; undefined on a public path. */
    caller: Caller | undefined;
    /** Set when the envelope in the body is read, for the log. */
    envelopeId: string | undefined;
  }
}

export type { FastifyReply, FastifyRequest };

/** Returns the caller on a path that is not public. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error('This path lets in everyone');
  return caller;
}

export const callerIdOf = (request: FastifyRequest): string => callerOf(request).clientId;

const answers = new AsyncLocalStorage<FastifyReply>();

/** Runs `handle` with this request as the present one, for all code that it calls and for work that outlasts the answer. */
export const answering = <T>(reply: FastifyReply, handle: () => T): T => answers.run(reply, handle);

/** Returns the answer to the present request; undefined once it is sent. */
export function presentReply(): FastifyReply | undefined {
  const reply = answers.getStore();
  return reply?.sent === false ? reply : undefined;
}

export const presentRequest = (): FastifyRequest | undefined => answers.getStore()?.request;

/**
 * Sets the `Link` header of a page that is not the last (RFC 8288): the address of this request with the start of the next page.
 * It is relative to the address of the request.
 * @param next start of the next page; undefined on the last page
 * @param options `name`: the parameter for `next`; `publicUrl`: its path, which a proxy cut off, precedes the path of the request
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
