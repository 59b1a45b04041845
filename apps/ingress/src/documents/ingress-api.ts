import type { ApiParts } from '@relay/openapi';
import { OAuthErrorBody } from '../oauth/oauth-error.js';
import { securitySchemes } from './ingress-security.js';
import { deliveryWebhooks } from './openapi-webhooks.js';

/** What the OpenAPI document of the ingress says beside its routes. */
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
  400: { error: 'invalid_scope', error_description: 'The client does not have this scope' },
  401: { error: 'invalid_client', error_description: 'Client authentication failed' },
  429: { error: 'temporarily_unavailable', error_description: 'Too many failed requests' },
  503: { error: 'temporarily_unavailable', error_description: 'Clients cannot be looked up at the moment' },
};
