import type { Breaker } from './breaker.js';

/**
 * The breakers of webhooks and endpoints that failed recently, by their keys; a webhook or endpoint without one has not failed.
 */
export abstract class BreakerStore {
  /**
   * Changes one breaker atomically among all workers: `change` may be called several times, each time with the stored breaker.
   * If it returns undefined nothing changes. Resolves with the breaker that is stored in the end.
   * @throws when the store is away
   */
  abstract change(
    key: string,
    now: number,
    change: (breaker: Breaker) => Breaker | undefined,
  ): Promise<{ readonly breaker: Breaker; readonly isChanged: boolean }>;

  /** All breakers. @throws when the store is away */
  abstract all(): Promise<ReadonlyMap<string, Breaker>>;
}
