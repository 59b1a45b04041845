import type { OperationText } from './operation.decorator.js';
import { answersOf, sharedAnswers, sharedHeaders } from './openapi-answers.js';
import { deliveryWebhooks } from './openapi-webhooks.js';
import { parametersOf } from './parameters.js';
import type { Route } from './routes.js';
import { SchemaBook, type Schema } from './schema-book.js';
import { securityOf, securitySchemes } from './security.js';

export interface ApiFacts {
  /** Public address of the relay, without a slash at its end. */
  readonly publicUrl: string;
  readonly version: string;
}

const PLACE = '#/components/schemas/';

/**
 * OpenAPI 3.1 of these routes. Parameters, bodies, answers and access come from decorators and zod schemas, so the
 * document cannot contradict the code.
 * @throws Error naming a route that has no description
 */
export function openApi(routes: readonly Route[], { publicUrl, version }: ApiFacts): Schema {
  const book = new SchemaBook('draft-2020-12', PLACE);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, book) };
  }
  const { webhooks, parameters, responses } = deliveryWebhooks(book);
  const components = {
    parameters,
    headers: sharedHeaders,
    responses: { ...sharedAnswers(book, publicUrl), ...responses },
    securitySchemes: securitySchemes(publicUrl),
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Partner Relay',
      version,
      summary: 'Takes events over HTTP, keeps them in Kafka and delivers them to the webhooks of partners.',
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl }],
    tags: TAGS,
    paths,
    webhooks,
    components: { schemas: book.named, ...components },
  };
}

function operationOf(route: Route, book: SchemaBook): Schema {
  const { text } = route;
  if (text === undefined) throw new Error(`${route.method} ${route.path} has no @Operation`);
  const parameters = parametersOf(text, book);
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

const INTRODUCTION = `Get an access token with \`POST /auth/token\` and send it as \`Authorization: Bearer\` on all other requests.

Every error but those of RFC 6749 is \`application/problem+json\` (RFC 9457); a path asked with a method it does not have answers 405 with \`Allow\`, one that does not exist 404. \`HEAD\` is there wherever \`GET\` is. Every answer has \`x-request-id\`. Bodies are strict JSON: a name twice in one object, invalid UTF-8, half a surrogate pair, or more than 32 levels are 400.

What a partner's endpoint receives is under \`webhooks\`; the Kafka topics are in \`/asyncapi.json\`.`;

const TAGS = [
  { name: 'Authentication', description: 'OAuth 2.0 client credentials (RFC 6749, 7009, 7517, 7662, 8414, 9068).' },
  { name: 'Sessions', description: 'Session identifiers of users, for partners.' },
  { name: 'Webhooks', description: 'Where a partner wants to be told of which events.' },
  { name: 'Deliveries', description: 'Envelopes into the relay, for sources.' },
  { name: 'Documents', description: 'What clients are made from.' },
];
