/** A 2xx counts for so long. */
export const PROOF_MS = 30 * 86_400_000;
/** What an origin answers is told no more often than this: thirty days hold many hours. */
const RENEWED_EVERY_MS = 3_600_000;

/** The origin of an endpoint, which is named by its partner and that. */
export const originOf = (endpoint: string): string => endpoint.slice(endpoint.indexOf(' ') + 1);

/**
 * The origins that one process knows to have answered 2xx, a bounded number of them, so that a delivery to one costs no round
 * trip. Whatever is not known here is asked of the store.
 */
export class KnownOrigins {
  /** When each last answered 2xx, as far as the store was told; those told of last at the end. */
  readonly #told = new Map<string, number>();

  constructor(private readonly most = 50_000) {}

  has(origin: string, now: number): boolean {
    const at = this.#told.get(origin);
    return at !== undefined && now - at < PROOF_MS;
  }

  know(origin: string, at: number): void {
    this.#told.delete(origin);
    this.#told.set(origin, at);
    if (this.#told.size <= this.most) return;
    const [oldest] = this.#told.keys();
    if (oldest !== undefined) this.#told.delete(oldest);
  }

  /** It has answered 2xx, but the store could not be told: the next time it is. */
  knowUntold(origin: string, now: number): void {
    this.know(origin, now - RENEWED_EVERY_MS);
  }

  /** Whether the store is to be told that the origin has answered 2xx just now. */
  isWorthTelling(origin: string, now: number): boolean {
    return now - (this.#told.get(origin) ?? -Infinity) >= RENEWED_EVERY_MS;
  }
}
