/** Counts by webhook the deliveries that were handed out and are not settled. */
export class PendingDeliveries {
  readonly #byWebhook = new Map<string, number>();
  #waiters: (() => void)[] = [];

  of(webhookId: string): number {
    return this.#byWebhook.get(webhookId) ?? 0;
  }

  begun(webhookId: string): void {
    this.#byWebhook.set(webhookId, this.of(webhookId) + 1);
  }

  ended(webhookId: string): void {
    const left = this.of(webhookId) - 1;
    if (left === 0) this.#byWebhook.delete(webhookId);
    else this.#byWebhook.set(webhookId, left);
    this.wake();
  }

  /** Resolves when a delivery of any webhook has ended, or at `wake`. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Resolves all promises of `change`. */
  wake(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
