import type { ServerResponse } from 'node:http';

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

/** Requests that one caller may have in progress; the cost of a light one is an eighth. */
const HEAVY_AT_ONCE = 8;
const LIGHT_COST = 1 / 8;

interface InProgress {
  cost: number;
  readonly waiting: (() => void)[];
}

/**
 * How many requests of one caller are in progress at once: eight, or 64 light ones. Every step of a request waits behind the
 * steps of those in progress, so without this a caller that asks on 200 connections would have everybody wait for all of its
 * requests. Its further requests wait for its own, in order of arrival, on connections of its own.
 */
export class CallerPlaces {
  readonly #callers = new Map<string, InProgress>();

  /**
   * Begins at once where the caller has room.
   * @param answer tells by `close` when the request is over, also one that still waits; it is destroyed where it has told that
   */
  take(caller: string, answer: Pick<ServerResponse, 'once' | 'destroyed'>, begin: () => void, isLight = false): void {
    // Its client left while the credential was looked up: nobody would end its place.
    if (answer.destroyed) return;
    const cost = isLight ? LIGHT_COST : 1;
    const own = this.#callers.get(caller) ?? { cost: 0, waiting: [] };
    this.#callers.set(caller, own);
    let hasBegun = false;
    let isOver = false;
    const go = (): void => {
      if (isOver) return;
      hasBegun = true;
      own.cost += cost;
      begin();
    };
    answer.once('close', () => {
      isOver = true;
      if (hasBegun) own.cost -= cost;
      this.#next(caller, own);
    });
    if (own.waiting.length === 0 && own.cost < HEAVY_AT_ONCE) go();
    else own.waiting.push(go);
  }

  #next(caller: string, own: InProgress): void {
    while (own.waiting.length > 0 && own.cost < HEAVY_AT_ONCE) own.waiting.shift()?.();
    if (own.cost === 0 && own.waiting.length === 0) this.#callers.delete(caller);
  }
}
