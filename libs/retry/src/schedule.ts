import { parseDuration } from '@relay/config';
import { MAX_RETRY_AFTER_MS } from '@relay/delivery';

/** Delays between the attempts of one delivery, in milliseconds: n delays allow n + 1 attempts. */
export type Schedule = readonly number[];

/** Standard Webhooks' recommendation: ten attempts over 75.6 hours (90.7 when every delay is stretched to the most). */
export const DEFAULT_SCHEDULE: Schedule = parseSchedule('5s,5m,30m,2h,5h,10h,14h,20h,24h');

/** The share of a delay that chance may add, so that deliveries that failed together are not repeated together. */
const MAX_STRETCH = 0.2;

/**
 * Reads a schedule such as `5s,5m,2h`.
 * @throws RangeError naming the entry that is no duration or lasts no time
 */
export function parseSchedule(text: string): number[] {
  return text.split(',').map((entry, index) => {
    const delayMs = parseDuration(entry);
    if (delayMs) return delayMs;
    throw new RangeError(`entry ${index + 1} of the retry schedule is no duration above zero such as 5s, 5m or 2h`);
  });
}

/** The longest time in milliseconds until a next attempt, by the schedule or because the endpoint asked for it. */
export const longestWait = (schedule: Schedule): number =>
  Math.max(MAX_RETRY_AFTER_MS, Math.max(...schedule) * (1 + MAX_STRETCH));

/**
 * Milliseconds to wait after so many attempts: the scheduled delay stretched by 0 to 20 %; undefined when the schedule is
 * exhausted. Chance only adds: the published delay is a minimum.
 * @param attemptsMade 1 or more
 * @param random from 0 to 1
 */
export function retryDelay(schedule: Schedule, attemptsMade: number, random: number): number | undefined {
  if (!Number.isInteger(attemptsMade) || attemptsMade < 1)
    throw new RangeError(`${attemptsMade} attempts were not made`);
  const delayMs = schedule[attemptsMade - 1];
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 + MAX_STRETCH * random));
}
