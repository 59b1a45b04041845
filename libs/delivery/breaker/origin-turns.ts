/** How long an origin needs no turns after it answered 2xx. */
export const PROOF_MS = 30 * 86_400_000;
/** Interval between two reports to the store that the same origin answered 2xx. */
const RENEWED_EVERY_MS = 3_600_000;

/** Returns the origin in the name of an endpoint, which is `<partner> <origin>`. */
export const originOf = (endpoint: string): string => endpoint.slice(endpoint.indexOf(' ') + 1);

/**
 * A bounded cache of origins that have answered 2xx. A delivery to such an origin needs no round trip to the store. All
 * other origins are looked up in the store.
 */
export class KnownOrigins {
  /** Time of the last reported 2xx of each origin. The entries are in the order of these times. */
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

  /**
   * Remembers that the origin has answered 2xx although the report to the store failed, so its next 2xx is reported again.
   */
  knowUnreported(origin: string, now: number): void {
    this.know(origin, now - RENEWED_EVERY_MS);
  }

  /** Returns whether a 2xx of the origin should be reported to the store now. */
  isReportDue(origin: string, now: number): boolean {
    return now - (this.#reported.get(origin) ?? -Infinity) >= RENEWED_EVERY_MS;
  }
}

/** Interval between two turns at an origin. */
const TURN_MS = 1_000;
/**
 * Longest time until a delivery without a turn asks again. The first 2xx of the origin makes all waiting deliveries due at
 * once. Until then, this time limits how often they ask in vain: ten thousand deliveries together ask about thirty times a
 * second.
 */
const AHEAD_MS = 600_000;
/**
 * Number of webhooks of an endpoint that ask at each of its turns. If an endpoint has more webhooks, each asks less often.
 */
const ASKERS = 30;
/** An endpoint or a webhook is forgotten if it has not asked for a turn for this long. */
const REMEMBERED_MS = 60_000;

/** A webhook that asks for a turn, with its endpoint. */
export interface Asker {
  readonly endpoint: string;
  readonly id: string;
}

interface Asking {
  /** Time of the endpoint's last turn. It may be in the future. */
  turnAt: number;
  /** Interval between turns of the endpoint. It grows with the number of endpoints that wait at the origin. */
  everyMs: number;
  /** For each webhook, the latest time at which one of its waiting deliveries will ask for a turn again. */
  readonly asksUntil: Map<string, number>;
  /**
   * For each webhook that asked in vain, the time at which it asks again. The webhooks get the next turns in the order of
   * the entries.
   */
  readonly refused: Map<string, number>;
}

/**
 * Limits the attempts of one process to origins that have never answered 2xx. Each such origin gets one attempt a second,
 * however long attempts take. The right to make this attempt is a turn. An endpoint (a partner's origin) reserves at most
 * one turn in advance, so a new endpoint waits for at most one turn of each other partner. The webhooks of an endpoint take
 * its turns in order, so a webhook with a thousand deliveries delays another webhook by at most one turn. A turn belongs to
 * the delivery that took it: when the turn comes, the delivery does not ask again. All times are from one monotonic clock,
 * in milliseconds.
 */
export class OriginTurns {
  readonly #freeAt = new Map<string, number>();
  readonly #asking = new Map<string, Asking>();

  /**
   * Takes the next turn of the endpoint for the webhook.
   * @returns the time of the turn, `now` or later; undefined if the endpoint already has a turn in the future, or if another
   * of its webhooks is next
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
   * Returns when a delivery that got no turn should ask again. The deliveries of a webhook are spread so that one of them
   * asks at each turn of the endpoint.
   * @param chance random number from 0 to 1
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

  /** Returns whether a waiting delivery of the webhook will ask for a turn only after `time`. */
  isBehind({ endpoint, id }: Asker, time: number): boolean {
    return (this.#asking.get(endpoint)?.asksUntil.get(id) ?? -Infinity) > time;
  }

  /** Returns the endpoints that asked lately. */
  endpoints(): Iterable<string> {
    return this.#asking.keys();
  }

  /** Deletes the turns of an origin, because it has answered 2xx and needs none any more. */
  prove(origin: string): void {
    this.#freeAt.delete(origin);
    for (const endpoint of this.#asking.keys()) if (originOf(endpoint) === origin) this.#asking.delete(endpoint);
  }

  /** Deletes the endpoints, webhooks and origins that no delivery has used recently. */
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
 * Returns whether the webhook is next. Another webhook goes first if it was refused earlier and asks again within `TURN_MS`.
 * A webhook that did not ask again in time loses its position.
 */
function isFirst(refused: Map<string, number>, id: string, now: number): boolean {
  for (const [each, at] of refused) {
    if (each === id) return true;
    if (at < now - TURN_MS) refused.delete(each);
    else if (at <= now + TURN_MS) return false;
  }
  return true;
}
