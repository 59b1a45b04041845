import type { AttemptFacts } from '@relay/events';

/** A delivery that was answered 2xx, with its attempts, the last of which succeeded. */
export interface DeliveredLine {
  readonly webhookId: string;
  /** UUID, in lower case. */
  readonly envelopeId: string;
  readonly attempts: readonly AttemptFacts[];
}

/**
 * @property endedAt when it was stored, epoch milliseconds by Redis' clock
 * @property place its position within that millisecond
 */
export interface HistoryLine extends DeliveredLine {
  readonly endedAt: number;
  readonly place: number;
}

/** `since` inclusive, `until` exclusive, epoch milliseconds; `before` is the last line of the previous page. */
export interface HistoryPeriod {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: Pick<HistoryLine, 'endedAt' | 'place'> | undefined;
}

/** An attempt as Redis holds it: begin, duration, status or error, and the failure in words. */
type StoredAttempt = [at: number, durationMs: number, answer: number | string, detail?: string];

export const textOf = (attempts: readonly AttemptFacts[]): string =>
  JSON.stringify(
    attempts.map(({ at, durationMs, status, error, detail }): StoredAttempt => {
      const answer = status ?? error ?? '';
      return detail === undefined ? [at, durationMs, answer] : [at, durationMs, answer, detail];
    }),
  );

export const attemptsOf = (text: string): AttemptFacts[] =>
  (JSON.parse(text) as StoredAttempt[]).map(([at, durationMs, answer, detail]) => {
    const facts: AttemptFacts = { at, durationMs };
    if (typeof answer === 'number') facts.status = answer;
    else if (answer !== '') facts.error = answer;
    if (detail !== undefined) facts.detail = detail;
    return facts;
  });

/** A UUID in 22 characters, and back. */
export const shortOf = (id: string): string => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
export const idOf = (short: string): string =>
  Buffer.from(short, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
