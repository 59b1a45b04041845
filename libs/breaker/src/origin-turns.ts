import { originOf } from './origin-proof.js';

/** Interval between turns at an origin. */
const TURN_MS = 1_000;
/**
 * Longest time until a delivery without a turn asks again. The first 2xx brings all of them forward, so this only bounds how often
 * waiting deliveries ask in vain: ten thousand of them about thirty times a second in all.
 */
const AHEAD_MS = 600_000;
/** An endpoint that asked for nothing for this long is forgotten. */
const REMEMBERED_MS = 60_000;

interface Asking {
  /** The endpoint's last turn, which may be ahead. */
  turnAt: number;
  /** Interval between its turns: the more endpoints wait at the origin, the longer. */
  everyMs: number;
  /** When the last delivery that was told a time asks again. */
  asksUntil: number;
}

/**
 * The turns of one process at origins that have never answered 2xx: one a second at an origin, however long attempts take. An
 * endpoint (a partner's origin) has at most one turn ahead of it, so at most one turn of each other partner comes before a new one.
 * A turn belongs to the delivery that took it, which no process asks again. Times are of one steady clock, in milliseconds.
 */
export class OriginTurns {
  readonly #freeAt = new Map<string, number>();
  readonly #asking = new Map<string, Asking>();

  /** Takes the endpoint's next turn. @returns its time, `now` or later; undefined while the endpoint has a turn ahead of it */
  take(endpoint: string, now: number): number | undefined {
    const asking = this.#of(endpoint);
    if (asking.turnAt > now) return undefined;
    const origin = originOf(endpoint);
    asking.turnAt = Math.max(now, this.#freeAt.get(origin) ?? now);
    this.#freeAt.set(origin, asking.turnAt + TURN_MS);
    asking.everyMs = asking.turnAt + TURN_MS - now;
    return asking.turnAt;
  }

  /** When a delivery that got no turn asks again: one delivery for each turn of the endpoint. @param chance from 0 to 1 */
  askAgainAt(endpoint: string, now: number, chance: number): number {
    const asking = this.#of(endpoint);
    const next = Math.max(asking.asksUntil + asking.everyMs, asking.turnAt, now + TURN_MS);
    if (next > now + AHEAD_MS) return now + (AHEAD_MS / 2) * (1 + chance);
    asking.asksUntil = next;
    return next;
  }

  /** Whether a delivery asks again later than `time`. */
  isBehind(endpoint: string, time: number): boolean {
    return (this.#asking.get(endpoint)?.asksUntil ?? -Infinity) > time;
  }

  /** Endpoints that asked lately. */
  endpoints(): Iterable<string> {
    return this.#asking.keys();
  }

  /** The origin needs no turns any more. */
  prove(origin: string): void {
    this.#freeAt.delete(origin);
    for (const endpoint of this.#asking.keys()) if (originOf(endpoint) === origin) this.#asking.delete(endpoint);
  }

  /** Forgets endpoints and origins that nobody asked for lately. */
  forget(now: number): void {
    for (const [origin, freeAt] of this.#freeAt) if (freeAt < now) this.#freeAt.delete(origin);
    for (const [endpoint, { turnAt, asksUntil }] of this.#asking)
      if (Math.max(turnAt, asksUntil) < now - REMEMBERED_MS) this.#asking.delete(endpoint);
  }

  #of(endpoint: string): Asking {
    let asking = this.#asking.get(endpoint);
    if (asking === undefined)
      this.#asking.set(endpoint, (asking = { turnAt: -Infinity, everyMs: TURN_MS, asksUntil: -Infinity }));
    return asking;
  }
}
