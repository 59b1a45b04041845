/** Validity of a 2xx. */
export const PROOF_MS = 30 * 86_400_000;
/** Interval between reports of a 2xx of one origin. */
const RENEWED_EVERY_MS = 3_600_000;

/** The origin of an endpoint's name, `<partner> <origin>`. */
export const originOf = (endpoint: string): string => endpoint.slice(endpoint.indexOf(' ') + 1);

/**
 * A bounded cache of origins that have answered 2xx, so that a delivery to one costs no round trip. Other origins are looked up
 * in the store.
 */
export class KnownOrigins {
  /** When each last answered 2xx by the last report to the store, which is the order of the entries. */
  readonly #reported = new Map<string, number>();

  constructor(private readonly most = 50_000) {}

  has(origin: string, now: number): boolean {
    const at = this.#reported.get(origin);
    return at !== undefined && now - at < PROOF_MS;
  }

  know(origin: string, at: number): void {
    this.#reported.delete(origin);
    this.#reported.set(origin, at);
    if (this.#reported.size <= this.most) return;
    const [oldest] = this.#reported.keys();
    if (oldest !== undefined) this.#reported.delete(oldest);
  }

  /** The origin has answered 2xx, but the report failed: the next 2xx is reported. */
  knowUnreported(origin: string, now: number): void {
    this.know(origin, now - RENEWED_EVERY_MS);
  }

  /** Whether a 2xx of the origin is to be reported to the store now. */
  isReportDue(origin: string, now: number): boolean {
    return now - (this.#reported.get(origin) ?? -Infinity) >= RENEWED_EVERY_MS;
  }
}
