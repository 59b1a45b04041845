import { deliveryHeaders } from '@relay/delivery';
import { Envelope, eventTypes, isNoticeType, Notice } from '@relay/events';
import { SCOPES_OF } from '@relay/identity';
import { membersOf, type ApiParts, type Schema, type SchemaBook } from '@relay/openapi';
import { OAuthErrorBody } from '../oauth/client-authenticator.js';
import { exampleOf } from './event-catalogue.js';

/** Returns the parts of the ingress's OpenAPI document that do not come from its routes. */
export const ingressApi = (publicUrl: string): ApiParts => ({
  title: 'Partner Relay',
  summary: 'Takes events over HTTP, keeps them in Kafka and delivers them to the webhooks of partners.',
  description: INTRODUCTION,
  tags: TAGS,
  securitySchemes: securitySchemes(publicUrl),
  oauthErrors: { schema: OAuthErrorBody, examples: OAUTH_EXAMPLES },
  sent: deliveryWebhooks,
});

const INTRODUCTION = `Get an access token with \`POST /auth/token\` and send it as \`Authorization: Bearer\` on all other requests.

Every error but those of RFC 6749 is \`application/problem+json\` (RFC 9457); a path asked with a method it does not have answers 405 with \`Allow\`, one that does not exist 404. \`HEAD\` is there wherever \`GET\` is. Every answer has \`x-request-id\`. Bodies are strict JSON: a name twice in one object, invalid UTF-8, half a surrogate pair, or more than 32 levels are 400.

What a partner's endpoint receives is under \`webhooks\`; the Kafka topics are in \`/asyncapi.json\`.`;

const TAGS = [
  { name: 'Authentication', description: 'OAuth 2.0 client credentials (RFC 6749, 7009, 7517, 7662, 8414, 9068).' },
  { name: 'Sessions', description: 'Session identifiers of users, for partners.' },
  { name: 'Webhooks', description: 'Where a partner wants to be told of which events.' },
  { name: 'Deliveries', description: 'Envelopes into the relay, for sources.' },
  { name: 'Portal', description: 'Pages for the people at a partner.' },
  { name: 'Documents', description: 'What clients are made from.' },
];

const OAUTH_EXAMPLES: Readonly<Record<number, OAuthErrorBody>> = {
  400: {
    error: 'invalid_scope',
    error_description: 'The client has no such scope: without scope the token has all that it has',
  },
  401: { error: 'invalid_client', error_description: 'The client id or the client secret is wrong' },
  429: { error: 'temporarily_unavailable', error_description: 'Too many failed requests' },
  503: { error: 'temporarily_unavailable', error_description: 'Clients cannot be looked up at the moment' },
};

const SCOPE_MEANS: Readonly<Record<string, string>> = {
  webhooks: 'Register, read, change and delete webhooks.',
  sessions: 'Start, read and end sessions.',
  'deliveries:write': 'Send envelopes.',
  'operations:read': 'Look at the state of the relay.',
  'operations:write': 'Operate the relay.',
  operations: 'Operate the relay, and create and change its clients.',
};

const securitySchemes = (publicUrl: string): Schema => ({
  token: {
    type: 'oauth2',
    description: 'An access token of `POST /auth/token`, as `Authorization: Bearer`.',
    flows: {
      clientCredentials: {
        tokenUrl: `${publicUrl}/auth/token`,
        scopes: Object.fromEntries(
          Object.values(SCOPES_OF).flatMap((scopes) => scopes.map((scope) => [scope, SCOPE_MEANS[scope] ?? ''])),
        ),
      },
    },
  },
  portal: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of `POST /portal/tokens`, for people who came by a link.',
  },
  client: { type: 'http', scheme: 'basic', description: 'Client id and client secret.' },
  sourceKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The API key of a source that has one.' },
  sourceJwt: { type: 'http', scheme: 'bearer', description: 'The fixed JWT of a source that has one.' },
  sourceBasic: { type: 'http', scheme: 'basic', description: 'User name and password of a source that has them.' },
});

/** Returns the requests that a partner's endpoint receives, by event type, and the components that these requests share. */
function deliveryWebhooks(book: SchemaBook): { webhooks: Schema; parameters: Schema; responses: Schema } {
  const envelope = book.of(Envelope, 'input');
  const notice = book.of(Notice, 'input');
  const headers = membersOf('header', deliveryHeaders, book);
  const webhooks = eventTypes.shown('registrable').map((type) => [
    type,
    {
      post: {
        operationId: `receive_${type.replaceAll('.', '_')}`,
        tags: ['Webhooks'],
        summary: `Delivery of ${type}`,
        description: `${isNoticeType(type) ? 'An envelope of the relay itself' : 'The envelope as its source sent it'}, byte for byte the same on every attempt. It can arrive more than once, with the same \`webhook-id\`. The registered credential is sent as \`x-api-key\` or \`authorization\`.`,
        security: [],
        parameters: headers.map(({ name }) => ({ $ref: `#/components/parameters/${String(name)}` })),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: isNoticeType(type) ? notice : envelope, example: exampleOf(type) } },
        },
        responses: Object.fromEntries(
          Object.keys(ANSWERS).map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]),
        ),
      },
    },
  ]);
  return {
    webhooks: Object.fromEntries(webhooks),
    parameters: Object.fromEntries(headers.map((header) => [header['name'], header])),
    responses: Object.fromEntries(
      Object.entries(ANSWERS).map(([status, description]) => [nameOf(status), { description }]),
    ),
  };
}

/** Returns the name of a response component, such as `Endpoint410`. */
const nameOf = (status: string): string => `Endpoint${status}`;

const ANSWERS = {
  '2XX': 'Delivered. The body is not read.',
  '410': 'Never again: the webhook is disabled.',
  '429': 'Not now: the webhook gets no request for as long as `Retry-After` says, 24 h at most.',
  '503': 'As 429.',
  default:
    'Failed, as are redirections, time-outs (by default after 15 s) and broken connections; repeated on the retry schedule.',
};
