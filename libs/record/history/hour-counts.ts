import { z } from 'zod';
import { HOUR_MS } from './history-line.js';

const moment = z.iso.datetime({ offset: true });

/** Members of a query for the counts of a period. Both have defaults. */
export const periodOfCounts = {
  since: moment
    .optional()
    .describe('Begin of the period; the hour of it is whole. Default: as far as counts are kept.'),
  until: moment.optional().describe('End of the period. Default: now.'),
};

/** A query for the counts of a period. */
export const CountsQuery = z.strictObject(periodOfCounts);
export type HourPeriod = z.infer<typeof CountsQuery>;

const HourCount = z
  .object({
    at: z.iso.datetime().describe('When the hour begins.'),
    delivered: z.int().describe('Successful attempts.'),
    failedAttempts: z.int(),
  })
  .meta({ id: 'HourCount' });
export type HourCount = z.infer<typeof HourCount>;

export const HourCounts = z.object({ hours: z.array(HourCount) }).meta({
  id: 'HourCounts',
  description: 'Attempts by the hour, oldest first. Hours begin in UTC, and none of the period is left out.',
});
export type HourCounts = z.infer<typeof HourCounts>;

/**
 * Returns the hours since the epoch that a period touches, ascending. A period outside the window has none.
 * @param now epoch milliseconds
 * @param windowMs how long counts are kept
 */
export function hoursOf({ since, until }: HourPeriod, now: number, windowMs: number): number[] {
  const begin = Math.max(now - windowMs, since === undefined ? 0 : Date.parse(since));
  const end = Math.min(now + 1, until === undefined ? Infinity : Date.parse(until));
  if (end <= begin) return [];
  const first = Math.floor(begin / HOUR_MS);
  return Array.from({ length: Math.ceil(end / HOUR_MS) - first }, (_, n) => first + n);
}
