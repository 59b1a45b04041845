/**
 * A caller may hold a third of what is free: alone it gets a quarter of the budget, and there is always room for
 * another.
 */
const FREE_FOR_EACH = 3;

/**
 * Bytes of bodies that a process may hold while it receives and answers them. The budget counts buffered bytes, not
 * announced ones: a caller that announces a body and sends nothing holds nothing. A caller’s share is a part of what is
 * free, so it shrinks as other callers arrive: a dozen callers at their limit leave room for another’s largest envelope
 * (dynamic thresholds, Choudhury and Hahne 1998).
 */
export class BodyBudget {
  readonly #held = new Map<string, number>();
  #used = 0;

  constructor(private readonly bytes: number) {}

  /** Bytes held for all callers. */
  get used(): number {
    return this.#used;
  }

  /** Whether this caller may hold so many bytes more; reserves nothing. */
  hasRoom(caller: string, bytes: number): boolean {
    return ((this.#held.get(caller) ?? 0) + bytes) * FREE_FOR_EACH <= this.bytes - this.#used - bytes;
  }

  /** Reserves the bytes. @returns false when there is no room */
  take(caller: string, bytes: number): boolean {
    if (!this.hasRoom(caller, bytes)) return false;
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + bytes);
    this.#used += bytes;
    return true;
  }

  give(caller: string, bytes: number): void {
    const left = (this.#held.get(caller) ?? 0) - bytes;
    this.#used -= bytes;
    if (left > 0) this.#held.set(caller, left);
    else this.#held.delete(caller);
  }
}
