import type { IncomingMessage } from 'node:http';
import { ProblemError } from '@relay/problem';
import type { BodyBudget } from './body-budget.js';
import { DEFAULT_MAX_BYTES, tooLong } from './body-rule.js';
import type { FastifyRequest } from './fastify-request.js';
import { HeldBody } from './held-body.js';

/** Of who did not say who it is: a listing with a credential in its body is the longest that such a caller may have to send. */
const MAX_ANONYMOUS_BYTES = 16 * 1024;
/** Holds the bodies of all who did not say who they are. */
const NOBODY = '';

type Done = (error: Error | null, body?: Buffer) => void;

/** Reads bodies once it is known whose they are, within the limits of the route and the budget of the process. */
export class BodyReader {
  constructor(private readonly budget: BodyBudget) {}

  read(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
    const { caller, headers } = request;
    const routeBytes = request.routeOptions.config.body?.maxBytes ?? DEFAULT_MAX_BYTES;
    const maxBytes = caller === undefined ? Math.min(routeBytes, MAX_ANONYMOUS_BYTES) : routeBytes;
    const announced = Number(headers['content-length'] ?? Number.NaN);
    if (announced > maxBytes) return done(tooLong());
    const holder = caller?.clientId ?? NOBODY;
    // Told before it is sent; held is what arrives.
    if (announced > 0 && !this.budget.hasRoom(holder, announced)) return done(noRoom());
    if (payload.destroyed) return done(brokenOff());
    const held = new HeldBody(this.budget, holder, Number.isNaN(announced) ? maxBytes : announced);
    const settle = (error: Error | null): void => {
      payload.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      if (error === null) {
        request.heldBody = held;
        done(null, held.bytes);
      } else {
        held.release();
        done(error);
      }
    };
    const onData = (piece: Buffer): void => {
      const added = held.add(piece);
      if (added !== 'added') settle(added === 'too-long' ? tooLong() : noRoom());
    };
    const onEnd = (): void => settle(null);
    const onBroken = (): void => settle(brokenOff());
    payload.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
    payload.resume();
  }
}

export const noRoom = (): ProblemError =>
  new ProblemError(
    'unavailable',
    'The relay holds as many bodies and answers as it can; of yours it takes no more now.',
    {
      headers: { 'retry-after': '1' },
    },
  );

/** Nobody reads the answer. */
const brokenOff = (): ProblemError => new ProblemError('invalid-request', 'The body ended before its end.');
