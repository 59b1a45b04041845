import { z } from 'zod';

/** Consecutive failures that open a breaker. */
export const IN_A_ROW = 10;
/** A breaker also opens if at least half of the attempts of a minute failed and there were at least this many. */
const AT_LEAST = 20;
/** A minute is counted in two halves: the present half and the previous one. */
const HALF_MS = 30_000;
const FIRST_OPEN_MS = 30_000;
/**
 * Longest time that a breaker is open, in ms. A claim of a probe never lasts longer, because an attempt takes at most 5 min.
 */
const LONGEST_OPEN_MS = 600_000;
/**
 * Longest pause that an endpoint can ask for (`MAX_RETRY_AFTER_MS` of `delivery`), in ms, plus one minute by which clocks
 * may differ.
 */
const LONGEST_HELD_MS = 86_460_000;
/** Longest time that a delivery waits, in ms. If no probe was made for so long, no delivery is left to make it. */
const ABANDONED_MS = 96 * 3_600_000;

const Count = z.object({ total: z.number(), failed: z.number() });

/**
 * The breaker of a webhook or of an endpoint (a partner's origin), shared by all workers. The breaker of a webhook counts
 * all attempts of the webhook. The breaker of an endpoint counts only attempts whose result says something about the origin
 * itself. A delivery is attempted only if neither breaker forbids it.
 * - Closed (`openUntil` is 0): attempts are made. The breaker opens after ten failures in a row, or if at least 20 attempts
 *   were made within a minute and at least half of them failed.
 * - Open until `openUntil`: no attempt is made.
 * - Half open after that: one attempt at a time is made, the probe. A worker claims it until `probeUntil`. If the probe
 *   succeeds, the breaker closes. If it fails, the breaker opens for twice as long as before, from 30 s up to 10 min. If a
 *   worker dies during its probe, the claim expires.
 *
 * If the webhook asked for a pause (`Retry-After`), it gets no attempt before `heldUntil`. The pause applies to all
 * deliveries of that webhook and to no other webhook.
 */
export const Breaker = z.object({
  /** Failures since the last success. */
  row: z.number(),
  /** Time at which the present half of the minute began. */
  halfAt: z.number(),
  present: Count,
  past: Count,
  /** How many times in a row the breaker was opened without having been closed. */
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

/** The attempts that one worker has made since its last report. */
export interface Tally {
  readonly succeeded: number;
  readonly failed: number;
  /** Failures after the last success. */
  readonly row: number;
}

/**
 * Adds attempts to the counts of the breaker. If the breaker is open, the attempts are ignored because they began before it
 * opened.
 */
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

/** Sets the pause that a webhook asked for: no attempt before `until`. */
export function held(breaker: Breaker, until: number): Breaker {
  return { ...breaker, heldUntil: Math.max(breaker.heldUntil, until) };
}

/** Claims the probe for `claimMs`. @returns undefined if no probe is due, or another worker makes it */
export function probing(breaker: Breaker, now: number, claimMs: number): Breaker | undefined {
  if (breaker.openUntil === 0 || barredUntil(breaker, now) > now) return undefined;
  return { ...breaker, probeUntil: now + claimMs };
}

/** Gives the claim of a probe back, because no attempt was made. */
export function unclaimed(breaker: Breaker): Breaker {
  return { ...breaker, probeUntil: 0 };
}

export function probed(breaker: Breaker, succeeded: boolean, now: number): Breaker {
  if (breaker.openUntil === 0) return breaker;
  return succeeded ? { ...CLOSED, heldUntil: breaker.heldUntil } : open(breaker, now);
}

/**
 * Returns the time until which no attempt may be made; `now` if an attempt may be made. If the breaker is open, that attempt
 * is the probe.
 */
export function barredUntil({ openUntil, probeUntil, heldUntil }: Breaker, now: number): number {
  return Math.max(openUntil === 0 ? now : Math.max(openUntil, probeUntil), heldUntil, now);
}

/**
 * Corrects the times that a process with a wrong clock stored: a time further in the future than is possible becomes `now`.
 */
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

/** Returns how long the breaker is open at its present opening, in ms. */
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
