/**
 * A caller may hold a third of what is free: alone it gets a quarter of the budget, and there is always room for
 * another.
 */
const FREE_FOR_EACH = 3;

/**
 * Bytes of bodies that a process may hold while it receives and answers them. The budget counts buffered bytes, not
 * announced ones: a caller that announces a body and sends nothing takes room from no other caller, only from its own
 * next bodies. A caller’s share is a part of what is free, so it shrinks as other callers arrive: a dozen callers at
 * their limit leave room for another’s largest envelope (dynamic thresholds, Choudhury and Hahne 1998).
 */
export class BodyBudget {
  readonly #held = new Map<string, number>();
  /** Bytes of bodies that are being received and are not buffered yet. */
  readonly #announced = new Map<string, number>();
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

  /**
   * Notes a body that will be received, so that a caller that begins many at once learns it before it sends them.
   * @returns false when the caller’s share has no room for it beside those that it sends already
   */
  announce(caller: string, bytes: number): boolean {
    const held = this.#held.get(caller) ?? 0;
    const announced = (this.#announced.get(caller) ?? 0) + bytes;
    if ((held + announced) * FREE_FOR_EACH > this.bytes - this.#used - announced) return false;
    this.#announced.set(caller, announced);
    return true;
  }

  /** So many announced bytes have been reserved, or will not arrive. */
  unannounce(caller: string, bytes: number): void {
    subtract(this.#announced, caller, bytes);
  }

  /** Reserves the bytes. @returns false when there is no room */
  take(caller: string, bytes: number): boolean {
    if (!this.hasRoom(caller, bytes)) return false;
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + bytes);
    this.#used += bytes;
    return true;
  }

  give(caller: string, bytes: number): void {
    this.#used -= bytes;
    subtract(this.#held, caller, bytes);
  }
}

function subtract(from: Map<string, number>, caller: string, bytes: number): void {
  const left = (from.get(caller) ?? 0) - bytes;
  if (left > 0) from.set(caller, left);
  else from.delete(caller);
}
