import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyReply, FastifyRequest } from './fastify-request.js';

const answers = new AsyncLocalStorage<FastifyReply>();

/** Handles a request that is the present one for what is called deep within it, and for the work that goes on after its answer. */
export const answering = <T>(reply: FastifyReply, handle: () => T): T => answers.run(reply, handle);

/** The answer to the present request, until it is sent. */
export function presentReply(): FastifyReply | undefined {
  const reply = answers.getStore();
  return reply?.sent === false ? reply : undefined;
}

export const presentRequest = (): FastifyRequest | undefined => answers.getStore()?.request;
