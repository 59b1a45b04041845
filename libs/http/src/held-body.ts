import type { BodyBudget } from './body-budget.js';

const FIRST_BYTES = 4 * 1024;
const NOTHING = Buffer.alloc(0);

/** `too-long`, or `no-room` in the budget, when the piece was not added. */
export type Added = 'added' | 'too-long' | 'no-room';

/**
 * One body in a buffer of its own: a body may arrive in pieces of one byte, and each piece from Node costs some 250
 * bytes. The buffer counts against the budget until `release`.
 */
export class HeldBody {
  #buffer: Buffer = NOTHING;
  #length = 0;

  /**
   * @param mostBytes the announced length, or else the limit of the route
   * @param announced bytes that the budget has noted as announced for this body
   */
  constructor(
    private readonly budget: BodyBudget,
    private readonly caller: string,
    private readonly mostBytes: number,
    private announced = 0,
  ) {}

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(piece: Buffer): Added {
    const length = this.#length + piece.length;
    if (length > this.mostBytes) return 'too-long';
    if (length > this.#buffer.length && !this.#grow(piece, length)) return 'no-room';
    if (this.#buffer !== piece) piece.copy(this.#buffer, this.#length);
    this.#length = length;
    return 'added';
  }

  /**
   * Doubles the buffer, so that bytes are copied rarely; a body in one piece, the usual case, is kept without a copy.
   */
  #grow(piece: Buffer, length: number): boolean {
    const isWhole = length === piece.length && length === this.mostBytes;
    const size = isWhole ? length : Math.min(this.mostBytes, Math.max(FIRST_BYTES, length, 2 * this.#buffer.length));
    const more = size - this.#buffer.length;
    if (!this.budget.take(this.caller, more)) return false;
    this.#unannounce(Math.min(more, this.announced));
    const buffer = isWhole ? piece : Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(buffer, 0, 0, this.#length);
    this.#buffer = buffer;
    return true;
  }

  #unannounce(bytes: number): void {
    if (bytes > 0) this.budget.unannounce(this.caller, bytes);
    this.announced -= bytes;
  }

  /** Returns the buffer to the budget; the bytes must not be used afterwards. */
  release(): void {
    this.budget.give(this.caller, this.#buffer.length);
    this.#unannounce(this.announced);
    this.#buffer = NOTHING;
    this.#length = 0;
  }
}
