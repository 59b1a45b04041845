/** Validity of a 2xx. */
export const PROOF_MS = 30 * 86_400_000;
/** Interval between reports of a 2xx of one origin. */
const RENEWED_EVERY_MS = 3_600_000;

/** Returns the origin of an endpoint's name, `<partner> <origin>`. */
export const originOf = (endpoint: string): string => endpoint.slice(endpoint.indexOf(' ') + 1);

/**
 * A bounded cache of origins that have answered 2xx, so that a delivery to one costs no round trip. Other origins are looked up
 * in the store.
 */
export class KnownOrigins {
  /** Time of each origin's last reported 2xx, which is the order of the entries. */
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

  /** Stores that the origin has answered 2xx. The report to the store failed, so the next 2xx is reported. */
  knowUnreported(origin: string, now: number): void {
    this.know(origin, now - RENEWED_EVERY_MS);
  }

  /** Returns whether a 2xx of the origin is to be reported to the store now. */
  isReportDue(origin: string, now: number): boolean {
    return now - (this.#reported.get(origin) ?? -Infinity) >= RENEWED_EVERY_MS;
  }
}

/** Interval between turns at an origin. */
const TURN_MS = 1_000;
/**
 * Longest time until a delivery without a turn asks again. The first 2xx makes all of them due at once. Until then, this time
 * limits how often they ask in vain: ten thousand of them ask about thirty times a second together.
 */
const AHEAD_MS = 600_000;
/** Webhooks of an endpoint that ask at each of its turns; with more of them each asks less often. */
const ASKERS = 30;
/** An endpoint or webhook that asked for nothing for this long is forgotten. */
const REMEMBERED_MS = 60_000;

/** A webhook of an endpoint that asks for a turn. */
export interface Asker {
  readonly endpoint: string;
  readonly id: string;
}

interface Asking {
  /** The endpoint's last turn, which may be ahead. */
  turnAt: number;
  /** Interval between its turns: the more endpoints wait at the origin, the longer. */
  everyMs: number;
  /** By webhook, the time when its last waiting delivery asks again. */
  readonly asksUntil: Map<string, number>;
  /** Webhooks that asked in vain, in the order in which they get the next turns, with the time when each asks again. */
  readonly refused: Map<string, number>;
}

/**
 * The turns of one process at origins that have never answered 2xx: one a second at an origin, however long attempts take. An
 * endpoint (a partner's origin) has at most one turn reserved for later. A new endpoint therefore waits for at most one turn of
 * each other partner. The webhooks of an endpoint take its turns in order, so a webhook with a thousand deliveries
 * delays another by at most one turn. A turn
 * belongs to the delivery that took it: at that time the delivery asks no process for another turn.
 * Times are of one steady clock, in milliseconds.
 */
export class OriginTurns {
  readonly #freeAt = new Map<string, number>();
  readonly #asking = new Map<string, Asking>();

  /**
   * Takes the endpoint's next turn. @returns its time, `now` or later; undefined while the endpoint has a turn ahead of it, or
   * another webhook of it comes first
   */
  take({ endpoint, id }: Asker, now: number): number | undefined {
    const asking = this.#of(endpoint);
    if (asking.turnAt > now || !isFirst(asking.refused, id, now)) return undefined;
    asking.refused.delete(id);
    const origin = originOf(endpoint);
    asking.turnAt = Math.max(now, this.#freeAt.get(origin) ?? now);
    this.#freeAt.set(origin, asking.turnAt + TURN_MS);
    asking.everyMs = asking.turnAt + TURN_MS - now;
    return asking.turnAt;
  }

  /**
   * Returns when a delivery that got no turn asks again: one delivery of its webhook for each turn of the endpoint.
   * @param chance from 0 to 1
   */
  askAgainAt({ endpoint, id }: Asker, now: number, chance: number): number {
    const asking = this.#of(endpoint);
    const { turnAt, asksUntil, refused } = asking;
    const last = asksUntil.get(id) ?? -Infinity;
    const everyMs = asking.everyMs * Math.max(1, asksUntil.size / ASKERS);
    const soon = Math.max(turnAt, now + TURN_MS);
    const next = last > now ? Math.max(last + everyMs, soon) : soon;
    refused.set(id, Math.min(next, now + everyMs));
    if (next > now + AHEAD_MS) return now + (AHEAD_MS / 2) * (1 + chance);
    asksUntil.set(id, next);
    return next;
  }

  /** Returns whether a delivery of the webhook asks again later than `time`. */
  isBehind({ endpoint, id }: Asker, time: number): boolean {
    return (this.#asking.get(endpoint)?.asksUntil.get(id) ?? -Infinity) > time;
  }

  /** Returns the endpoints that asked lately. */
  endpoints(): Iterable<string> {
    return this.#asking.keys();
  }

  /** Ends the turns of the origin, which needs none any more. */
  prove(origin: string): void {
    this.#freeAt.delete(origin);
    for (const endpoint of this.#asking.keys()) if (originOf(endpoint) === origin) this.#asking.delete(endpoint);
  }

  /** Forgets endpoints and origins without recent requests for a turn. */
  forget(now: number): void {
    for (const [origin, freeAt] of this.#freeAt) if (freeAt < now) this.#freeAt.delete(origin);
    const before = now - REMEMBERED_MS;
    for (const [endpoint, { turnAt, asksUntil, refused }] of this.#asking) {
      for (const times of [asksUntil, refused]) for (const [id, at] of times) if (at < before) times.delete(id);
      if (turnAt < before && asksUntil.size === 0) this.#asking.delete(endpoint);
    }
  }

  #of(endpoint: string): Asking {
    let asking = this.#asking.get(endpoint);
    if (asking === undefined)
      this.#asking.set(
        endpoint,
        (asking = { turnAt: -Infinity, everyMs: TURN_MS, asksUntil: new Map(), refused: new Map() }),
      );
    return asking;
  }
}

/**
 * Returns whether the webhook is next: no webhook that was refused earlier asks again within `TURN_MS`.
 * A webhook that missed its time has lost its
 * place.
 */
function isFirst(refused: Map<string, number>, id: string, now: number): boolean {
  for (const [each, at] of refused) {
    if (each === id) return true;
    if (at < now - TURN_MS) refused.delete(each);
    else if (at <= now + TURN_MS) return false;
  }
  return true;
}
