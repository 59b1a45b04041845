import type { TimeWindow } from '@relay/kafka';
import { z } from 'zod';
import { timeOf } from '../table.js';

/** A day, which begins at midnight of UTC, or a time with its zone: one without is another elsewhere. */
const Moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** Epoch milliseconds; undefined for whatever else `Date.parse` would guess at: `7` is 2001 to it. */
export function readMoment(text: string): number | undefined {
  const read = Moment.safeParse(text);
  return read.success ? Date.parse(read.data) : undefined;
}

export const windowFacts = ({ since, until }: TimeWindow) => ({
  since: since === undefined ? null : timeOf(since),
  until: until === undefined ? null : timeOf(until),
});

/** `from 2030-01-01T00:00:00.000Z until now`, as it was understood. */
export function windowText(window: TimeWindow): string {
  const { since, until } = windowFacts(window);
  const end = until === null ? 'until now' : `before ${until}`;
  return since === null ? end : `from ${since} ${end}`;
}
