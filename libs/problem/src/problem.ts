import { PROBLEMS, type ProblemCode } from './catalog.js';
import { z } from 'zod';

/** One invalid member: RFC 6901 pointer into the body, and the rule that it breaks. */
export interface MemberFault {
  readonly pointer: string;
  readonly detail: string;
}

interface ProblemExtra {
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

/** A refusal for now, such as while Redis is away. */
export const unavailable = (detail: string, retryAfterS: number, cause?: unknown): ProblemError =>
  new ProblemError('unavailable', detail, { headers: { 'retry-after': String(retryAfterS) }, cause });

/** Where a problem occurred. */
interface Occurrence {
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

/** The form of every error but those of RFC 6749; some have further members for the client. */
export const ProblemBody = z
  .looseObject({
    type: z.url().describe('Ends in `#` and a code; match on this.'),
    title: z.string().describe('Short words, the same for every occurrence.'),
    status: z.int().describe('The HTTP status.'),
    detail: z.string().describe('What is wrong this time, for a person.'),
    instance: z.string().describe('Path of the request.'),
    requestId: z.string().describe('As in the header `x-request-id`; name it when you ask us.'),
    errors: z
      .array(
        z.object({
          pointer: z.string().describe('JSON pointer (RFC 6901) into the body; empty for the body as a whole.'),
          detail: z.string().describe('What is expected there.'),
        }),
      )
      .optional()
      .describe('Each invalid member of the body.'),
    id: z.string().optional().describe('With 409: what is there already.'),
    ids: z.array(z.string()).optional().describe('With 409: what the request could mean.'),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457).' });
export type ProblemBody = z.infer<typeof ProblemBody>;
