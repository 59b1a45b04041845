/** Token bucket of all lines. With that of errors any second has at most 99 lines, and one that counts the dropped lines. */
const USUAL = { burst: 40, perSecond: 39 };
/** Reserved for errors, so that warnings do not displace them. */
const ERRORS = { burst: 10, perSecond: 10 };

class Bucket {
  #tokens: number;
  #at = 0;

  constructor(private readonly limit: { burst: number; perSecond: number }) {
    this.#tokens = limit.burst;
  }

  take(now: number): boolean {
    const { burst, perSecond } = this.limit;
    // A clock that was set back adds no tokens, one that was set forward at most a burst.
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) * perSecond) / 1_000);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** Bounds the lines of a process over all event words, and counts the dropped lines of each word. */
export class LineBound {
  readonly #usual = new Bucket(USUAL);
  readonly #errors = new Bucket(ERRORS);
  #leftOut = new Map<string, number>();

  /** Whether a line may be written. @param now milliseconds */
  spend(event: string, isError: boolean, now: number): boolean {
    if (this.#usual.take(now) || (isError && this.#errors.take(now))) return true;
    this.#leftOut.set(event, (this.#leftOut.get(event) ?? 0) + 1);
    return false;
  }

  /** Dropped lines of each event word since the last call. */
  leftOut(): ReadonlyMap<string, number> {
    const counts = this.#leftOut;
    this.#leftOut = new Map();
    return counts;
  }
}
