import { ProblemBody, type ProblemCode, ProblemError, PROBLEMS, toProblem } from '@relay/problem';
import { z } from 'zod';
import { type ApiParts, type OperationText, type Route, type Schema, SchemaBook } from './operation.decorator.js';

/** Returns the parameters of one operation, path parameters first. */
function parametersOf({ path = {}, query, headers }: OperationText, book: SchemaBook): Schema[] {
  const inPath = Object.entries(path).map(([name, { schema, example }]) =>
    parameter(name, 'path', true, book.of(schema, 'input'), example),
  );
  return [...inPath, ...membersOf('query', query, book), ...membersOf('header', headers, book)];
}

/** Returns one parameter for each member of the schema. */
export function membersOf(place: string, schema: z.ZodObject | undefined, book: SchemaBook): Schema[] {
  if (schema === undefined) return [];
  const { properties, required } = book.of(schema, 'input');
  return Object.entries(properties as Record<string, Schema>).map(([name, member]) =>
    parameter(name, place, Array.isArray(required) && required.includes(name), member),
  );
}

/** Returns a parameter. Its description is beside its schema, not within the schema. */
const parameter = (
  name: string,
  place: string,
  required: boolean,
  { description, ...schema }: Schema,
  example?: unknown,
): Schema => ({ name, in: place, required, description, schema, example });

/**
 * Returns the security requirements of a route, which are alternatives. An empty requirement admits callers without a
 * credential.
 */
function securityOf({ access, scopes, portal }: Route): Record<string, readonly string[]>[] {
  const token = { token: scopes };
  const ways: Record<Route['access'], Record<string, readonly string[]>[]> = {
    public: [],
    client: [{ client: [] }],
    bearer: [token, ...(portal === undefined ? [] : [{ portal: [] }])],
    listing: [token, {}],
    source: [token, { sourceKey: [] }, { sourceJwt: [] }, { sourceBasic: [] }],
    operator: [token, { operator: [] }],
  };
  return ways[access];
}

export interface ApiFacts {
  /** Public address of the relay, without a slash at its end. */
  readonly publicUrl: string;
  readonly version: string;
}

const IF_MATCH = z.object({
  'if-match': z
    .string()
    .regex(/^(?:\*|"\d{1,15}")$/)
    .optional()
    .describe('The `ETag` that was read: the request is obeyed only while it is current.'),
});
const PLACE = '#/components/schemas/';

/**
 * Returns the OpenAPI 3.1 document of these routes. Parameters, bodies, answers and access come from decorators and zod
 * schemas, so the document cannot contradict the code.
 * @throws Error that names a route without a description or without a known tag
 */
export function openApi(routes: readonly Route[], { publicUrl, version }: ApiFacts, parts: ApiParts): Schema {
  const { title, summary, description, tags } = parts;
  const book = new SchemaBook('draft-2020-12', PLACE);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, parts, book) };
  }
  const sent = parts.sent?.(book);
  const components = {
    ...(sent === undefined ? {} : { parameters: sent.parameters }),
    headers: sharedHeaders,
    responses: { ...sharedAnswers(book, publicUrl, parts.oauthErrors), ...sent?.responses },
    securitySchemes: parts.securitySchemes,
  };
  return {
    openapi: '3.1.0',
    info: { title, version, summary, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: parts.server ?? publicUrl }],
    tags,
    paths,
    ...(sent === undefined ? {} : { webhooks: sent.webhooks }),
    components: { schemas: book.named, ...components },
  };
}

function operationOf(route: Route, { tags }: ApiParts, book: SchemaBook): Schema {
  const { text } = route;
  if (text === undefined) throw new Error(`${route.method} ${route.path} has no @Operation`);
  if (!tags.some(({ name }) => name === text.tag)) throw new Error(`${text.id} has an unknown tag, ${text.tag}`);
  const parameters = parametersOf(route.hasVersions ? { ...text, headers: IF_MATCH } : text, book);
  return {
    operationId: text.id,
    tags: [text.tag],
    summary: text.summary,
    ...(text.description === undefined ? {} : { description: text.description }),
    security: securityOf(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(text.body === undefined ? {} : { requestBody: bodyOf(route, text.body, book) }),
    responses: answersOf(route, text, book),
  };
}

function bodyOf(route: Route, body: NonNullable<OperationText['body']>, book: SchemaBook): Schema {
  const content = route.mediaTypes.map((mediaType) => {
    const one = 'byType' in body ? body.byType[mediaType] : body;
    if (one === undefined) throw new Error(`${route.method} ${route.path} takes ${mediaType}, which is not described`);
    return [
      mediaType,
      { schema: book.of(one.schema, 'input'), ...(one.example === undefined ? {} : { example: one.example }) },
    ];
  });
  return { required: body.isRequired, content: Object.fromEntries(content) };
}

/** Problems that every route can answer, because they concern HTTP itself or an internal fault. */
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
/** Error statuses of the routes at which clients authenticate. */
const OAUTH_STATUSES = [400, 401, 429, 503];

const QUOTA = {
  'RateLimit-Policy': 'The quota: `q` requests in `w` seconds.',
  RateLimit: 'What is left of it: `r` requests, renewed in `t` seconds.',
};
const REQUEST_ID = { 'x-request-id': 'The one that was sent, or a new one.' };
const RETRY_AFTER = { 'Retry-After': 'Seconds to wait.' };
const SHARED: Readonly<Record<string, string>> = { ...REQUEST_ID, ...QUOTA, ...RETRY_AFTER };

/**
 * Whether the route has a quota. Partners and OAuth clients have quotas. Sources have none; they get 503 if the log cannot
 * keep up.
 */
const isLimited = ({ access }: Route): boolean => access === 'bearer' || access === 'listing' || access === 'client';

/** Headers of errors, by status. */
const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'How to authenticate (RFC 9110 section 11.6.1).' },
  403: { 'WWW-Authenticate': 'Names the scope that is needed (RFC 6750 section 3.1).' },
  405: { Allow: 'The methods of this path.' },
  429: { ...RETRY_AFTER, ...QUOTA },
  503: RETRY_AFTER,
};

/** Returns every answer of one operation, by its status. */
function answersOf(route: Route, text: OperationText, book: SchemaBook): Schema {
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
  const pages = Object.entries(text.pages ?? {}).map(([status, meaning]) => {
    const html = { 'text/html': { schema: { type: 'string' } } };
    return [status, { description: meaning, headers: headersOf(REQUEST_ID), content: html }];
  });
  return {
    [String(route.status)]: success,
    ...(Object.fromEntries(pages) as Schema),
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

/** Returns the answers to which all operations refer: the problems of every status, and the errors of RFC 6749. */
function sharedAnswers(book: SchemaBook, publicUrl: string, errors: ApiParts['oauthErrors']): Schema {
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
const sharedHeaders: Schema = Object.fromEntries(
  Object.entries(SHARED).map(([name, description]) => [name, headerOf(description)]),
);
