/** So many times what one caller has must be free. A caller alone gets a quarter of all, and there is always room for another. */
const FREE_FOR_EACH = 3;

/**
 * What a process may hold of bodies that are being received or answered, in bytes. Counted is what is held, not what is announced:
 * that is what memory is, and who announces a body and sends none of it holds nothing. A caller's share is a part of what is free,
 * not of all, so it shrinks as others come: a dozen who hold all they can leave room for another's largest envelope (dynamic thresholds,
 * Choudhury and Hahne 1998).
 */
export class BodyBudget {
  readonly #held = new Map<string, number>();
  #used = 0;

  constructor(private readonly bytes: number) {}

  /** What is held of all callers. */
  get used(): number {
    return this.#used;
  }

  /** Whether there is room for so much more of this caller; takes nothing. */
  hasRoom(caller: string, bytes: number): boolean {
    return ((this.#held.get(caller) ?? 0) + bytes) * FREE_FOR_EACH <= this.bytes - this.#used - bytes;
  }

  /** Takes it, if there is room. */
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
