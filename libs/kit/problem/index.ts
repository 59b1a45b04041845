// Owns the error codes that clients see and the shape of an error (RFC 9457).
// Guarantees that each code has one status and one title, and that docs/errors.md lists exactly these codes.
// Leaves to `http` how a problem is written to HTTP, and to the throwing code which detail helps the client.
import { z } from 'zod';

interface CatalogEntry {
  readonly status: number;
  /** Short words, the same for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string;
  /** Cause and remedy, for a client's developer; becomes docs/errors.md. */
  readonly meaning: string;
}

/** The only list of error codes. A code keeps its status and meaning for ever: clients match on `type`. */
export const PROBLEMS = {
  'malformed-json': {
    status: 400,
    title: 'Malformed JSON',
    meaning:
      'The body is not JSON as RFC 8259 defines it, or it has invalid UTF-8, a duplicate name in an object, half a surrogate pair, or more than 32 levels. `errors` says where.',
  },
  'invalid-body': {
    status: 400,
    title: 'Invalid body',
    meaning: 'The body is JSON but not what this operation accepts. `errors` names each member by its JSON pointer.',
  },
  'invalid-request': {
    status: 400,
    title: 'Invalid request',
    meaning: 'The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.',
  },
  unauthorized: {
    status: 401,
    title: 'Not authenticated',
    meaning:
      'The request has no valid credential. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the token sent is not valid, or no longer valid.',
  },
  'insufficient-scope': {
    status: 403,
    title: 'Insufficient scope',
    meaning: 'The token is valid but does not carry the scope that `WWW-Authenticate` names.',
  },
  'type-not-permitted': {
    status: 403,
    title: 'Event type not permitted',
    meaning:
      'The source may not send envelopes of this event type; `detail` names the type and those that it may send.',
  },
  'not-found': { status: 404, title: 'Not found', meaning: 'There is no such path, or no such resource of yours.' },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, but only for the methods that `Allow` lists.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request timeout',
    meaning: 'The request did not arrive in time. Repeat it.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning: 'The request contradicts what is stored; `detail` and further members say what. Nothing was changed.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Precondition failed',
    meaning: 'The resource is no longer the one that `If-Match` names. Read it again.',
  },
  'payload-too-large': {
    status: 413,
    title: 'Body too large',
    meaning:
      'The body is longer than this path accepts, which `detail` says: 256 KiB for an envelope unless `MAX_ENVELOPE_BYTES` sets another limit, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.',
  },
  'uri-too-long': {
    status: 414,
    title: 'Address too long',
    meaning: 'A part of the path is longer than anything that could exist under it.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'This path does not accept the `Content-Type`, or the body has a `Content-Encoding`.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    meaning: 'Wait as many seconds as `Retry-After` says.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Headers too large',
    meaning: 'The request line and headers together are longer than 16 KiB.',
  },
  internal: { status: 500, title: 'Internal error', meaning: 'A fault of the relay. Tell us the `requestId`.' },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    meaning:
      'Something the relay needs is unavailable. Repeat the request after `Retry-After` seconds, an envelope with the same `id`: if it was stored, it is not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.',
  },
} as const satisfies Record<string, CatalogEntry>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Returns the catalogue as a page of Markdown: docs/errors.md is exactly this text. */
export function errorsPage(): string {
  const entries = Object.entries(PROBLEMS).map(
    ([code, { status, title, meaning }]) => `## ${code}\n\n${status} ${title}. ${meaning}\n`,
  );
  return `${INTRODUCTION}\n${entries.join('\n')}`;
}

const INTRODUCTION = `# Errors

Every error is \`application/problem+json\` (RFC 9457) with \`type\`, \`title\`, \`status\`, \`detail\`, \`instance\` and \`requestId\`. Match on the code at the end of \`type\`, behind \`#\`: it is one of the headings below. Show \`detail\` to people, and never match on it. \`errors\` names each member at fault by its JSON pointer (RFC 6901).

Repeat a request after 408, 429 and 503, and after no answer: wait the seconds of \`Retry-After\` if the answer has it, and send an envelope with the same \`id\`. After any other 4xx, change the request first; after 401, get a new token. \`requestId\` finds the request in the logs of the operator.

\`POST /auth/token\`, \`/auth/revoke\` and \`/auth/introspect\` refuse clients and requests as RFC 6749 section 5.2 says.
`;

/** One invalid member: its JSON pointer (RFC 6901) in the body, and the rule that it breaks. */
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

/** A refused or failed request. `detail` goes to the client, so it never names internals. */
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

/** Returns a temporary refusal, such as while Redis is away. */
export const unavailable = (detail: string, retryAfterS: number, cause?: unknown): ProblemError =>
  new ProblemError('unavailable', detail, { headers: { 'retry-after': String(retryAfterS) }, cause });

/** Relay and request of a problem. */
interface Occurrence {
  /** Public address of the relay without a slash at its end. */
  readonly publicUrl: string;
  /** Path of the request without its query, which may hold secrets. */
  readonly instance: string;
  readonly requestId: string;
}

/** Returns the members of RFC 9457, the relay's own, and the members of this error, which cannot replace any of them. */
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

/** The form of every error except OAuth errors (RFC 6749). Some errors have further members for the client. */
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
