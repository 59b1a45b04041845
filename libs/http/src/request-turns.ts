/** Requests that begin in one turn of the event loop: a few milliseconds of work. */
const EACH_TURN = 8;

/**
 * Lets few requests begin in a turn of the event loop. A caller that asks on many connections at once would fill each turn with
 * its requests, and every step of another one, which takes several turns, would wait for all of them. Here a request waits once,
 * in order of arrival.
 */
export class RequestTurns {
  #waiting: (() => void)[] = [];
  #begun = 0;
  #isNextDue = false;

  /** Begins at once where the turn has room. */
  take(begin: () => void): void {
    if (this.#begun >= EACH_TURN) {
      this.#waiting.push(begin);
      return;
    }
    this.#begin(begin);
  }

  #begin(begin: () => void): void {
    this.#begun += 1;
    if (!this.#isNextDue) setImmediate(() => this.#next());
    this.#isNextDue = true;
    begin();
  }

  #next(): void {
    this.#isNextDue = false;
    this.#begun = 0;
    for (const begin of this.#waiting.splice(0, EACH_TURN)) this.#begin(begin);
  }
}
