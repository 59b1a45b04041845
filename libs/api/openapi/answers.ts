import { PROBLEMS, ProblemBody, toProblem, ProblemError, type ProblemCode } from '@relay/problem';
import type { ApiParts, OperationText } from './operation.decorator.js';
import type { Route } from './routes.adapter.js';
import type { Schema, SchemaBook } from './schema-book.js';

/** Problems of HTTP itself, on every route: framing, a slow client, a content encoding, an internal fault. */
const ANYWHERE: readonly ProblemCode[] = [
  'invalid-request',
  'request-timeout',
  'unsupported-media-type',
  'headers-too-large',
  'internal',
];
const WITH_PARAMETERS: readonly ProblemCode[] = ['uri-too-long'];
const WITH_BODY: readonly ProblemCode[] = ['malformed-json', 'invalid-body', 'payload-too-large'];
const GUARDED: readonly ProblemCode[] = ['unauthorized', 'insufficient-scope', 'too-many-requests', 'unavailable'];
const CLIENT: readonly ProblemCode[] = ['unavailable'];
/** Error statuses of the routes that authenticate clients. */
const OAUTH_STATUSES = [400, 401, 429, 503];

const QUOTA = {
  'RateLimit-Policy': 'The quota: `q` requests in `w` seconds.',
  RateLimit: 'What is left of it: `r` requests, renewed in `t` seconds.',
};
const REQUEST_ID = { 'x-request-id': 'The one that was sent, or a new one.' };
const RETRY_AFTER = { 'Retry-After': 'Seconds to wait.' };
const SHARED: Readonly<Record<string, string>> = { ...REQUEST_ID, ...QUOTA, ...RETRY_AFTER };

/** Whether the route has a quota. Partners and OAuth clients have quotas; sources get 503 if the log cannot keep up. */
const isLimited = ({ access }: Route): boolean => access === 'bearer' || access === 'listing' || access === 'client';

/** Headers that come with an error of this status. */
const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'How to authenticate (RFC 9110 section 11.6.1).' },
  403: { 'WWW-Authenticate': 'Names the scope that is needed (RFC 6750 section 3.1).' },
  405: { Allow: 'The methods of this path.' },
  429: { ...RETRY_AFTER, ...QUOTA },
  503: RETRY_AFTER,
};

/** Returns every answer of one operation, by its status. */
export function answersOf(route: Route, text: OperationText, book: SchemaBook): Schema {
  const { description, mediaType = 'application/json', content, headers } = text.answer;
  const success = {
    description,
    headers: headersOf({ ...REQUEST_ID, ...(isLimited(route) ? QUOTA : {}), ...headers }),
    ...(content === undefined
      ? {}
      : {
          content: {
            [mediaType]: {
              schema: book.of(content.schema, 'output'),
              ...(content.example === undefined ? {} : { example: content.example }),
            },
          },
        }),
  };
  return {
    [String(route.status)]: success,
    ...referredTo('Problem', statusesOf(problemsOf(route, text))),
    ...referredTo('OAuth', route.access === 'client' ? OAUTH_STATUSES : []),
  };
}

const referredTo = (name: string, statuses: readonly number[]): Schema =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${name}${status}` }]));

function problemsOf({ access, hasVersions, mediaTypes, path }: Route, text: OperationText): ProblemCode[] {
  const isForm = !mediaTypes.some((type) => type.includes('json'));
  return [
    ...ANYWHERE,
    ...(path.includes(':') ? WITH_PARAMETERS : []),
    ...(hasVersions ? (['precondition-failed'] as const) : []),
    ...(text.body === undefined ? [] : isForm ? (['payload-too-large'] as const) : WITH_BODY),
    ...(access === 'public' ? [] : access === 'client' ? CLIENT : GUARDED),
    ...(text.problems ?? []),
  ];
}

/** Returns the problems of every status and the errors of RFC 6749, to which all operations refer. */
export function sharedAnswers(book: SchemaBook, publicUrl: string, errors: ApiParts['oauthErrors']): Schema {
  const problems = Object.fromEntries(
    statusesOf(codes).map((status) => [`Problem${status}`, problemAnswer(status, book, publicUrl)]),
  );
  return { ...problems, ...(errors === undefined ? {} : oauthAnswers(book, publicUrl, errors)) };
}

function oauthAnswers(
  book: SchemaBook,
  publicUrl: string,
  { schema, examples }: NonNullable<ApiParts['oauthErrors']>,
): Schema {
  const answers = OAUTH_STATUSES.map((status): [string, Schema] => {
    const { description, headers, content } = problemAnswer(status, book, publicUrl);
    const json = { schema: book.of(schema, 'output'), examples: { oauth: { value: examples[status] } } };
    return [
      `OAuth${status}`,
      {
        description: `An error of RFC 6749 section 5.2, or: ${String(description)}`,
        headers,
        content: { 'application/json': json, ...(content as object) },
      },
    ];
  });
  return Object.fromEntries(answers);
}

function problemAnswer(status: number, book: SchemaBook, publicUrl: string): Schema {
  const own = codes.filter((code) => PROBLEMS[code].status === status);
  const at = { publicUrl, instance: '/webhooks', requestId: '5f0c3c1e-7d0a-4a58-9c53-0d7e1f9b7a11' };
  const examples = own.map((code) => [code, { value: toProblem(new ProblemError(code, PROBLEMS[code].title), at) }]);
  return {
    description: own.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join('\n\n'),
    headers: headersOf({ ...REQUEST_ID, ...HEADERS[status] }),
    content: {
      'application/problem+json': { schema: book.of(ProblemBody, 'output'), examples: Object.fromEntries(examples) },
    },
  };
}

const codes = Object.keys(PROBLEMS) as ProblemCode[];

const statusesOf = (given: readonly ProblemCode[]): number[] =>
  [...new Set(given.map((code) => PROBLEMS[code].status))].toSorted((a, b) => a - b);

const headersOf = (headers: Readonly<Record<string, string>>): Schema =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      SHARED[name] === description ? { $ref: `#/components/headers/${name}` } : headerOf(description),
    ]),
  );

const headerOf = (description: string): Schema => ({ description, schema: { type: 'string' } });

/** Headers to which many answers refer. */
export const sharedHeaders: Schema = Object.fromEntries(
  Object.entries(SHARED).map(([name, description]) => [name, headerOf(description)]),
);
