import { NoSuchPath } from './request.js';

/** What the pages read of a problem document (RFC 9457). */
export interface ProblemText {
  readonly type?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly requestId?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

/** An answer that is no success. `status` is 0 when nothing answered. */
export class Refused extends Error {
  override readonly name = 'Refused';

  constructor(
    readonly status: number,
    readonly problem: ProblemText,
    /** Seconds until the next try; undefined where the answer names none. */
    readonly retryAfterS: number | undefined,
  ) {
    super(problem.detail ?? problem.title ?? `The relay answered ${status}`);
  }

  /** Such as `not-found`; undefined when something else than the relay answered. */
  get code(): string | undefined {
    return this.problem.type?.split('#')[1];
  }
}

/** What went wrong, and what to do, in sentences. */
export function wordsOf(error: unknown): string {
  if (error instanceof NoSuchPath) return 'There is no such page.';
  if (!(error instanceof Refused)) return 'The page met a fault of its own. Load it again.';
  if (error.status === 0) return 'The relay does not answer. Check the network, then try again.';
  const members = (error.problem.errors ?? []).map(({ pointer, detail }) => `${pointer.slice(1)}: ${detail}`);
  const wait = error.retryAfterS === undefined ? '' : ` Try again in ${error.retryAfterS} s.`;
  return `${[error.message, ...members].join(' ')}${wait}`;
}

const RETRY_S = 5;
/** A timer of a browser holds 24 days; one of more fires at once, again and again. */
const LONGEST_S = 3_600;
/** What passes by itself: no answer, too many requests, something that is away. */
const PASSING = new Set([0, 429, 502, 503, 504]);

/** Milliseconds after which to ask again what met this error; undefined where that changes nothing. */
export function waitOf(error: unknown): number | undefined {
  if (!(error instanceof Refused) || !PASSING.has(error.status)) return undefined;
  return Math.min(LONGEST_S, Math.max(1, error.retryAfterS ?? RETRY_S)) * 1_000;
}
