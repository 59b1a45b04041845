/** What may begin in one turn of the event loop: a few milliseconds of work. */
const EACH_TURN = 64;
/** Cost of a request that reads or changes something in the stores by itself. */
const HEAVY = 8;
/** Cost of a request whose work in the stores is done together with that of others. */
const LIGHT = 1;

interface Waiting {
  readonly begin: () => void;
  readonly cost: number;
}

/**
 * Lets few requests begin in a turn of the event loop: eight, or 64 light ones. A caller that asks on many connections at once
 * would fill each turn with its requests, and every step of another one, which takes several turns, would wait for all of them.
 * Here a request waits once, in order of arrival. Light ones that begin together reach the stores together: eight at a time
 * would cost Kafka a sixth more.
 */
export class RequestTurns {
  #waiting: Waiting[] = [];
  #begun = 0;
  #isNextDue = false;

  /** Begins at once where the turn has room. */
  take(begin: () => void, isLight = false): void {
    const cost = isLight ? LIGHT : HEAVY;
    if (this.#waiting.length > 0 || this.#begun + cost > EACH_TURN) this.#waiting.push({ begin, cost });
    else this.#begin({ begin, cost });
  }

  #begin({ begin, cost }: Waiting): void {
    this.#begun += cost;
    if (!this.#isNextDue) setImmediate(() => this.#next());
    this.#isNextDue = true;
    begin();
  }

  #next(): void {
    this.#isNextDue = false;
    this.#begun = 0;
    let [count, cost] = [0, 0];
    for (const next of this.#waiting) {
      cost += next.cost;
      if (cost > EACH_TURN) break;
      count += 1;
    }
    for (const next of this.#waiting.splice(0, count)) this.#begin(next);
  }
}
