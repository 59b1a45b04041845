interface CatalogEntry {
  readonly status: number;
  /** Short words, the same for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string;
  /** What a client's developer should know and do; it becomes docs/errors.md. */
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
  'not-found': {
    status: 404,
    title: 'Not found',
    meaning: 'There is no such path, or no such resource of yours.',
  },
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
      'The body is longer than this path accepts: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.',
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
  internal: {
    status: 500,
    title: 'Internal error',
    meaning: 'A fault of the relay. Tell us the `requestId`.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    meaning:
      'Something the relay needs is unavailable. Repeat the request after `Retry-After` seconds, an envelope with the same `id`: if it was stored, it is not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.',
  },
} as const satisfies Record<string, CatalogEntry>;

export type ProblemCode = keyof typeof PROBLEMS;

/** The catalogue as a page of Markdown: docs/errors.md is exactly this text. */
export function errorsPage(): string {
  const entries = Object.entries(PROBLEMS).map(
    ([code, { status, title, meaning }]) => `## ${code}\n\n${status} ${title}. ${meaning}\n`,
  );
  return `${INTRODUCTION}\n${entries.join('\n')}`;
}

const INTRODUCTION = `# Errors

Every error is \`application/problem+json\` (RFC 9457) with \`type\`, \`title\`, \`status\`, \`detail\`, \`instance\` and \`requestId\`; \`type\` ends in \`#\` and one of the codes below. Only \`POST /auth/token\`, \`/auth/revoke\` and \`/auth/introspect\` answer refused clients and requests as RFC 6749 section 5.2 says.
`;
