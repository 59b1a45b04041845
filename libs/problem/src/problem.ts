import { PROBLEMS, type ProblemCode } from './catalog.js';
import type { ProblemBody } from './problem-schema.js';

/** One invalid member: RFC 6901 pointer into the body, and the rule that it breaks. */
export interface MemberFault {
  readonly pointer: string;
  readonly detail: string;
}

export interface ProblemExtra {
  readonly errors?: readonly MemberFault[];
  /** Response headers that belong to the error, such as `retry-after`, in seconds. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the problem (RFC 9457 section 3.2), such as the existing `id` of a conflict. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** The internal cause, for the log and never for the client. */
  readonly cause?: unknown;
}

/** A refusal of a request. `detail` goes to the client, so it never names internals. */
export class ProblemError extends Error {
  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    readonly extra: ProblemExtra = {},
  ) {
    super(detail, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'ProblemError';
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** Where a problem occurred. */
export interface Occurrence {
  /** Public address of the relay without a slash at its end. */
  readonly publicUrl: string;
  /** Path of the request without its query, which may hold secrets. */
  readonly instance: string;
  readonly requestId: string;
}

/** The members of RFC 9457, ours, and then what this error adds; it cannot replace any of the former. */
export function toProblem(error: ProblemError, at: Occurrence): ProblemBody {
  const { status, title } = PROBLEMS[error.code];
  return {
    ...error.extra.members,
    type: `${at.publicUrl}/docs/errors#${error.code}`,
    title,
    status,
    detail: error.detail,
    instance: at.instance,
    requestId: at.requestId,
    ...(error.extra.errors === undefined ? {} : { errors: [...error.extra.errors] }),
  };
}
