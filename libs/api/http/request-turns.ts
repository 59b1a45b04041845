import type { ServerResponse } from 'node:http';

/** Cost of the requests that may begin in one turn of the event loop: a few milliseconds of work. */
const EACH_TURN = 64;
/** Cost of a request that reads or changes something in the stores by itself. */
const HEAVY = 8;
/** Cost of a request that reaches the stores in a batch with others. */
const LIGHT = 1;

interface Waiting {
  readonly begin: () => void;
  readonly cost: number;
}

/**
 * Begins few requests in a turn of the event loop: eight, or 64 light ones. Otherwise a caller on many connections fills each
 * turn with its requests, and another caller's request, which takes several turns, waits for all of them at every step. With
 * this limit a request waits once, in order of arrival. Light requests that begin together reach the stores in one batch;
 * batches of eight cost Kafka a sixth more.
 */
export class RequestTurns {
  #waiting: Waiting[] = [];
  #begun = 0;
  #isNextDue = false;

  /** Begins at once if the turn has room. */
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

/** Requests that one caller may have in progress. A light request counts as an eighth. */
const HEAVY_AT_ONCE = 8;
const LIGHT_COST = 1 / 8;

interface InProgress {
  cost: number;
  readonly waiting: (() => void)[];
}

/**
 * Limits the requests of one caller in progress: eight, or 64 light ones. Every step of a request waits behind the steps of all
 * requests in progress, so without this limit a caller on 200 connections makes everyone else wait for all of its requests.
 * Beyond the limit, requests wait only for requests of the same caller, in order of arrival.
 */
export class CallerPlaces {
  readonly #callers = new Map<string, InProgress>();

  /**
   * Begins at once if the caller has room.
   * @param answer emits `close` when the request is over, even if the request still waits; it is destroyed once it has emitted it
   */
  take(caller: string, answer: Pick<ServerResponse, 'once' | 'destroyed'>, begin: () => void, isLight = false): void {
    // The client left during the look-up of its credential, so no `close` will ever free the place.
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
