import type { Breaker } from './breaker.js';

/** The breakers of all endpoints that have failed lately; the others have none. */
export abstract class BreakerStore {
  /**
   * Changes one breaker, atomically among all workers: `change` may be called several times, each time with what is
   * stored by then. Undefined from it changes nothing. Resolves with what is stored in the end.
   * @throws when the store is away
   */
  abstract change(
    endpoint: string,
    now: number,
    change: (breaker: Breaker) => Breaker | undefined,
  ): Promise<{ readonly breaker: Breaker; readonly isChanged: boolean }>;

  /** All there are. @throws when the store is away */
  abstract all(): Promise<ReadonlyMap<string, Breaker>>;
}
