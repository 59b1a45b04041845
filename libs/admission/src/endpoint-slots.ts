import { AdaptiveCap } from './adaptive-limit.js';
import { Backlog } from './slot-schedule.js';

interface Waiting<T> {
  readonly item: T;
  readonly since: number;
  readonly order: number;
  next: Waiting<T> | undefined;
}

/** When an attempt began, by the wall and by our own pace. */
interface Began {
  readonly now: number;
  readonly pace: number;
}

/** What the gate knows of one endpoint: what runs, what waits, how many may run, and in which lines it stands. */
export class GateEndpoint<T> {
  readonly backlog = new Backlog();
  readonly partner: string;
  /** What runs, oldest first. */
  readonly #running: Began[] = [];
  // What waits, a linked list in order of arrival.
  #first: Waiting<T> | undefined;
  #last: Waiting<T> | undefined;
  /** Since when it is full without a break; undefined when it is not. */
  fullSince: number | undefined;
  /** When something of it last ended. */
  idleSince = -Infinity;
  // Whether it stands in that line of the gate: in each at most once.
  isReady = false;
  isExpiring = false;
  isWatched = false;
  isResting = false;

  constructor(
    readonly key: string,
    readonly cap: AdaptiveCap,
  ) {
    this.partner = key.slice(0, Math.max(0, key.indexOf(' ')));
  }

  get running(): number {
    return this.#running.length;
  }

  /** When what runs longest began, by our own pace. */
  get oldest(): number | undefined {
    return this.#running[0]?.pace;
  }

  /** What waits first: since when, and its place in the order of all. */
  get first(): { readonly since: number; readonly order: number } | undefined {
    return this.#first;
  }

  /** When what waits first expires; undefined while it waits for nothing but the total. */
  expiry(maxWaitMs: number): number | undefined {
    if (!this.#first || this.fullSince === undefined) return undefined;
    return Math.max(this.#first.since, this.fullSince) + maxWaitMs;
  }

  begin(began: Began): void {
    this.#running.push(began);
  }

  /** Ends one attempt and returns when it began. Which one it was its duration tells, to within what we spent on it ourselves. */
  end(durationMs: number, now: number): Began | undefined {
    const at = this.#lastBegunBy(now - durationMs);
    return this.#running.splice(Math.max(0, at), 1)[0];
  }

  /** Of what runs, in the order in which it began, the index of the last that had begun by then; -1 when none had. */
  #lastBegunBy(time: number): number {
    let from = 0;
    let to = this.#running.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const began = this.#running[middle];
      if (began !== undefined && began.now <= time) from = middle + 1;
      else to = middle;
    }
    return from - 1;
  }

  /** Returns whether it is the first that waits. */
  wait(item: T, since: number, order: number): boolean {
    const waiting: Waiting<T> = { item, since, order, next: undefined };
    const isFirst = this.#last === undefined;
    if (this.#last) this.#last.next = waiting;
    else this.#first = waiting;
    this.#last = waiting;
    return isFirst;
  }

  /** Takes the delivery that waits first out. */
  leave(): T {
    const waiting = this.#first;
    if (!waiting) throw new RangeError(`nothing waits for ${this.key}`);
    this.#first = waiting.next;
    if (!waiting.next) this.#last = undefined;
    return waiting.item;
  }
}
