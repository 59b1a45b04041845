/** What an attack showed, claim by claim: a failed one does not hide those after it, and each leaves its figure. */
export class Verdict {
  readonly #figures: string[] = [];
  /** The claims that do not hold. */
  readonly broken: string[] = [];

  /** A figure that is told and not judged. */
  tell(what: string, value: number | string): void {
    this.#figures.push(`${what} ${shown(value)}`);
  }

  atMost(what: string, value: number, bound: number): void {
    this.#judge(value <= bound, `${what} ${shown(value)} (at most ${shown(bound)})`);
  }

  atLeast(what: string, value: number, bound: number): void {
    this.#judge(value >= bound, `${what} ${shown(value)} (at least ${shown(bound)})`);
  }

  isTrue(what: string, holds: boolean): void {
    this.#judge(holds, `${what}: ${holds ? 'yes' : 'no'}`);
  }

  none(what: string, found: readonly string[]): void {
    const first = found.length === 0 ? '' : `: ${[...new Set(found)].slice(0, 3).join('; ')}`;
    this.#judge(found.length === 0, `${what} ${found.length}${first}`);
  }

  toString(): string {
    return this.#figures.join(', ');
  }

  #judge(holds: boolean, text: string): void {
    this.#figures.push(text);
    if (!holds) this.broken.push(text);
  }
}

const shown = (value: number | string): string =>
  typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(1) : String(value);
