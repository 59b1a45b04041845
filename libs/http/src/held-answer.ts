import type { ServerResponse } from 'node:http';
import type { BodyBudget } from './body-budget.js';

/** An answer of an ordinary envelope or webhook is not worth a count. */
const SMALL_LENGTH = 4 * 1024;

/**
 * Holds an answer in the budget until it is sent: a caller that reads none of its lists would fill the memory with them.
 * @returns whether there was room
 */
export function holdAnswer(budget: BodyBudget, caller: string, length: number, response: ServerResponse): boolean {
  if (length <= SMALL_LENGTH || response.destroyed) return true;
  if (!budget.take(caller, length)) return false;
  let isHeld = true;
  const release = (): void => {
    if (isHeld) budget.give(caller, length);
    isHeld = false;
    response.req.socket.off('close', release);
  };
  response.once('close', release);
  // Node closes no answer that stands behind another one of a connection that ends.
  response.req.socket.once('close', release);
  return true;
}
