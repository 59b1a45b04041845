/** Lines at once, and a second: over any second at most 99, and one that tells what was left out. */
const USUAL = { burst: 40, perSecond: 39 };
/** Kept for errors, so that what someone must act on is not lost among warnings. */
const ERRORS = { burst: 10, perSecond: 10 };

class Bucket {
  #tokens: number;
  #at = 0;

  constructor(private readonly limit: { burst: number; perSecond: number }) {
    this.#tokens = limit.burst;
  }

  take(now: number): boolean {
    const { burst, perSecond } = this.limit;
    // A clock that was set back brings nothing, one set forward at most a burst.
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) * perSecond) / 1_000);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** Bounds the lines of a process, however many event words they have, and counts by word what is left out. */
export class LineBound {
  readonly #usual = new Bucket(USUAL);
  readonly #errors = new Bucket(ERRORS);
  #leftOut = new Map<string, number>();

  /** Whether a line may be written now, in milliseconds. */
  spend(event: string, isError: boolean, now: number): boolean {
    if (this.#usual.take(now) || (isError && this.#errors.take(now))) return true;
    this.#leftOut.set(event, (this.#leftOut.get(event) ?? 0) + 1);
    return false;
  }

  /** How many lines of each event were left out since this was last asked. */
  leftOut(): ReadonlyMap<string, number> {
    const counts = this.#leftOut;
    this.#leftOut = new Map();
    return counts;
  }
}
