import { z } from 'zod';
import { timeOf } from '../table.js';

/**
 * A date, which begins at midnight UTC, or a time with its zone: without a zone its meaning would depend on the
 * machine.
 */
const Moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** Epoch milliseconds; undefined for any other text, since `Date.parse` guesses: it reads `7` as 2001. */
export function readMoment(text: string): number | undefined {
  const read = Moment.safeParse(text);
  return read.success ? Date.parse(read.data) : undefined;
}

/** The time of the envelopes that are delivered again, as the operations app shows it; `null` where it is open. */
export interface Window {
  readonly since: string | null;
  readonly until: string | null;
}

export const windowOf = ({ since, until }: { since?: number; until?: number }): Window => ({
  since: since === undefined ? null : timeOf(since),
  until: until === undefined ? null : timeOf(until),
});

/** `from 2030-01-01T00:00:00.000Z until now`: the window as the command understood it. */
export function windowText({ since, until }: Window): string {
  const end = until === null ? 'until now' : `before ${until}`;
  return since === null ? end : `from ${since} ${end}`;
}
