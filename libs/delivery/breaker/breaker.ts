import { z } from 'zod';

/** Consecutive failures that open a breaker. */
export const IN_A_ROW = 10;
/** Attempts in a minute from which on a breaker also opens if half of them failed. */
const AT_LEAST = 20;
/** A minute is counted in two halves, the present one and the previous one. */
const HALF_MS = 30_000;
const FIRST_OPEN_MS = 30_000;
/** Longest opening, in ms. No claim of a probe is longer: an attempt takes at most 5 min. */
const LONGEST_OPEN_MS = 600_000;
/**
 * Longest pause that an endpoint can ask for (`MAX_RETRY_AFTER_MS` of `delivery`), in ms, and a minute by which clocks may
 * differ.
 */
const LONGEST_HELD_MS = 86_460_000;
/** Longest wait of a delivery, in ms. After it no delivery is left to make the probe, so the endpoint was removed. */
const ABANDONED_MS = 96 * 3_600_000;

const Count = z.object({ total: z.number(), failed: z.number() });

/**
 * The breaker of a webhook or of an endpoint (a partner's origin), as all workers share it. That of a webhook learns from all of its
 * attempts; that of an endpoint from those that say something about the origin itself. A delivery needs both closed.
 * - Closed (`openUntil` 0): attempts are made. Ten failures in a row, or half of twenty and more in a minute, open it.
 * - Open until `openUntil`: no attempt is made.
 * - Then half open: one attempt at a time, the probe, claimed until `probeUntil`. Its success closes the breaker, its
 *   failure opens it for twice as long, from 30 s up to 10 min. A claim that expires belonged to a worker that died.
 *
 * Until `heldUntil` the webhook asked for a pause (`Retry-After`), which applies to all of its deliveries and to no other webhook's.
 */
export const Breaker = z.object({
  row: z.number(),
  /** When the present half of the minute began. */
  halfAt: z.number(),
  present: Count,
  past: Count,
  /** How often it was opened without having been closed. */
  opened: z.number(),
  openUntil: z.number(),
  probeUntil: z.number(),
  heldUntil: z.number(),
});
export type Breaker = z.infer<typeof Breaker>;

const NONE = { total: 0, failed: 0 };

export const CLOSED: Breaker = {
  row: 0,
  halfAt: 0,
  present: NONE,
  past: NONE,
  opened: 0,
  openUntil: 0,
  probeUntil: 0,
  heldUntil: 0,
};

/** Attempts of one worker since its last report. */
export interface Tally {
  readonly succeeded: number;
  readonly failed: number;
  /** Failures since the last success among them. */
  readonly row: number;
}

/** Counts attempts. An attempt that ends while the breaker is open began before, and does not count. */
export function counted(breaker: Breaker, tally: Tally, now: number): Breaker {
  if (breaker.openUntil > 0) return breaker;
  const { halfAt, present, past } = minuteOf(breaker, now);
  const total = present.total + tally.succeeded + tally.failed;
  const failed = present.failed + tally.failed;
  const row = tally.succeeded > 0 ? tally.row : breaker.row + tally.failed;
  const next = { ...breaker, row, halfAt, past, present: { total, failed } };
  const ofMinute = { total: past.total + total, failed: past.failed + failed };
  const isBad = row >= IN_A_ROW || (ofMinute.total >= AT_LEAST && ofMinute.failed * 2 >= ofMinute.total);
  return isBad && tally.failed > 0 ? open(next, now) : next;
}

/** The webhook asked for no attempt before this time. */
export function held(breaker: Breaker, until: number): Breaker {
  return { ...breaker, heldUntil: Math.max(breaker.heldUntil, until) };
}

/** Claims the probe for this time; undefined when none is due, or another one runs. */
export function probing(breaker: Breaker, now: number, claimMs: number): Breaker | undefined {
  if (breaker.openUntil === 0 || barredUntil(breaker, now) > now) return undefined;
  return { ...breaker, probeUntil: now + claimMs };
}

/** Gives back a claim without an outcome: no attempt was made. */
export function unclaimed(breaker: Breaker): Breaker {
  return { ...breaker, probeUntil: 0 };
}

export function probed(breaker: Breaker, succeeded: boolean, now: number): Breaker {
  if (breaker.openUntil === 0) return breaker;
  return succeeded ? { ...CLOSED, heldUntil: breaker.heldUntil } : open(breaker, now);
}

/**
 * Returns until when no attempt may be made. The time is not after `now` if one may be made, which is the probe if the breaker
 * is open.
 */
export function barredUntil({ openUntil, probeUntil, heldUntil }: Breaker, now: number): number {
  return Math.max(openUntil === 0 ? now : Math.max(openUntil, probeUntil), heldUntil, now);
}

/** Returns a stored breaker without the times that a wrong clock wrote: a time further ahead than any can be counts as passed. */
export function sound(breaker: Breaker, now: number): Breaker {
  const within = (at: number, longestMs: number): number => (at > now + longestMs ? now : at);
  return {
    ...breaker,
    halfAt: within(breaker.halfAt, HALF_MS),
    openUntil: within(breaker.openUntil, LONGEST_OPEN_MS),
    probeUntil: within(breaker.probeUntil, LONGEST_OPEN_MS),
    heldUntil: within(breaker.heldUntil, LONGEST_HELD_MS),
  };
}

/** Returns whether the breaker need not be stored. */
export function isForgettable(breaker: Breaker, now: number): boolean {
  const { openUntil, probeUntil, heldUntil } = breaker;
  if (heldUntil > now || (openUntil > 0 && Math.max(openUntil, probeUntil) + ABANDONED_MS > now)) return false;
  const { present, past } = minuteOf(breaker, now);
  return present.failed + past.failed === 0;
}

/** Returns the duration of the present opening, in ms. */
export function openMs({ opened }: Breaker): number {
  return Math.min(LONGEST_OPEN_MS, FIRST_OPEN_MS * 2 ** Math.max(0, opened - 1));
}

function open(breaker: Breaker, now: number): Breaker {
  const next = { ...CLOSED, heldUntil: breaker.heldUntil, opened: breaker.opened + 1 };
  return { ...next, openUntil: now + openMs(next) };
}

function minuteOf({ halfAt, present, past }: Breaker, now: number): Pick<Breaker, 'halfAt' | 'present' | 'past'> {
  const age = now - halfAt;
  if (age < HALF_MS) return { halfAt, present, past };
  return { halfAt: now, present: NONE, past: age < 2 * HALF_MS ? present : NONE };
}
