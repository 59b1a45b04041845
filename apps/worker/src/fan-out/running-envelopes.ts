/** Called when an envelope that runs in this worker is settled. */
type WhenSettled = () => void;

/**
 * Envelopes this worker is running, by id and content hash. A record that brings one of them again (a repeat of the
 * source, or a re-read after Redis went back) is not started twice: it is settled when the running one is.
 */
export class RunningEnvelopes {
  readonly #running = new Map<string, WhenSettled[]>();

  get size(): number {
    return this.#running.size;
  }

  /** False when it runs already: then `whenSettled` is called with the running one. */
  start(id: string, hash: string, whenSettled: WhenSettled): boolean {
    const key = `${id} ${hash}`;
    const running = this.#running.get(key);
    if (running !== undefined) {
      running.push(whenSettled);
      return false;
    }
    this.#running.set(key, [whenSettled]);
    return true;
  }

  settle(id: string, hash: string): void {
    const key = `${id} ${hash}`;
    const waiting = this.#running.get(key) ?? [];
    this.#running.delete(key);
    for (const whenSettled of waiting) whenSettled();
  }
}
