import { answeredWithin } from '@relay/kafka';
import { type Log, reasonOf } from '@relay/telemetry';

/** Reads stores that may be away, and logs the reason for a missing answer once, until the store answers again. */
export class AnswersInTime {
  readonly #away = new Set<string>();

  constructor(
    private readonly log: Pick<Log, 'info' | 'warn'>,
    private readonly patienceMs: number,
  ) {}

  /**
   * Returns the answer; undefined if there is none in time.
   * @param figures name of the requested figures, for the log
   */
  async orAway<T>(figures: string, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const late = (): Error => new Error(`no answer in ${this.patienceMs} ms`);
      const answer = await answeredWithin(this.patienceMs, ask(), late);
      if (this.#away.delete(figures))
        this.log.info('now.complete', 'A store answers again what it did not tell', { figures });
      return answer;
    } catch (error) {
      if (!this.#away.has(figures))
        this.log.warn('now.incomplete', 'A store does not answer: GET /now lacks its figures, and alerts are unknown', {
          figures,
          reason: reasonOf(error),
        });
      this.#away.add(figures);
      return undefined;
    }
  }
}

/** Shares one answer between all callers within some time, even before it arrives. A failure reaches only waiting callers. */
export class SharedAnswer<T> {
  #last: { readonly at: number; readonly answer: Promise<T> } | undefined;

  /** @param now milliseconds, monotonic */
  constructor(
    private readonly ask: () => Promise<T>,
    private readonly freshMs: number,
    private readonly now: () => number,
  ) {}

  read(): Promise<T> {
    const now = this.now();
    if (this.#last !== undefined && now - this.#last.at < this.freshMs) return this.#last.answer;
    const last = { at: now, answer: this.ask() };
    this.#last = last;
    last.answer.catch(() => {
      if (this.#last === last) this.#last = undefined;
    });
    return last.answer;
  }
}
