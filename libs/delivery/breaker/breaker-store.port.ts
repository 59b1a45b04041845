import type { Breaker } from './breaker.js';

/**
 * Stores the breakers of webhooks and endpoints that failed recently, by their keys. A webhook or endpoint without a stored
 * breaker has not failed recently.
 */
export abstract class BreakerStore {
  /**
   * Changes one breaker atomically among all workers. `change` may be called several times, each time with the breaker that
   * is stored at that moment. If `change` returns undefined, nothing is stored.
   * @returns the breaker that is stored in the end, and whether it was changed
   * @throws if the store cannot be reached
   */
  abstract change(
    key: string,
    now: number,
    change: (breaker: Breaker) => Breaker | undefined,
  ): Promise<{ readonly breaker: Breaker; readonly isChanged: boolean }>;

  /** Returns all stored breakers by their keys. @throws if the store cannot be reached */
  abstract all(): Promise<ReadonlyMap<string, Breaker>>;
}
