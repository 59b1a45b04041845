import { z } from 'zod';
import { answersOf, sharedAnswers, sharedHeaders } from './answers.js';
import type { ApiParts, OperationText } from './operation.decorator.js';
import type { Route } from './routes.adapter.js';
import { SchemaBook, type Schema } from './schema-book.js';

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

/** Returns a parameter, with the description beside the schema instead of within it. */
const parameter = (
  name: string,
  place: string,
  required: boolean,
  { description, ...schema }: Schema,
  example?: unknown,
): Schema => ({ name, in: place, required, description, schema, example });

/** Returns the security requirements of a route. Several are alternatives; an empty one admits callers without a credential. */
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
 * @throws Error that names a route without a description or a known tag
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
