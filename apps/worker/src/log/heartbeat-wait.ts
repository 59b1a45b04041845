import type { EachBatchPayload } from 'kafkajs';

/** Interval in ms at which a wait checks whether its reason still holds. */
const LOOK_MS = 500;

const ALWAYS = { goesOn: true };

/** Waits while kafkajs is within a batch, and sends heartbeats; otherwise the group takes this consumer for dead. */
export class HeartbeatWait {
  #fault: Error | undefined;

  constructor(
    private readonly payload: Pick<EachBatchPayload, 'heartbeat'>,
    private readonly isStopping: () => boolean,
  ) {}

  /**
   * Waits for as long as `reason` goes on.
   * @param looking is called before each look
   * @returns the value; undefined when the promise was rejected, the reason is gone, the process stops or a heartbeat failed
   */
  for<T>(
    waiting: Promise<T>,
    reason: { readonly goesOn: boolean } = ALWAYS,
    looking?: () => void,
  ): Promise<{ readonly value: T } | undefined> {
    return new Promise((resolve) => {
      const isOver = (): boolean => this.isStopping() || !reason.goesOn;
      const end = (result?: { readonly value: T }): void => {
        clearInterval(timer);
        resolve(isOver() ? undefined : result);
      };
      const timer = setInterval(() => {
        looking?.();
        if (isOver()) end();
        else void this.#beat().then((isAlive) => isAlive || end());
      }, LOOK_MS);
      waiting.then(
        (value) => end({ value }),
        () => end(),
      );
    });
  }

  async #beat(): Promise<boolean> {
    try {
      await this.payload.heartbeat();
      return true;
    } catch (error) {
      this.#fault ??= error instanceof Error ? error : new Error(String(error));
      return false;
    }
  }

  /** Leaves a heartbeat that failed (rebalance, broker away) to kafkajs. @throws it */
  throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }
}
