import { SCOPES_OF } from '@relay/identity';
import type { Schema } from '@relay/openapi';

const SCOPE_MEANS: Readonly<Record<string, string>> = {
  webhooks: 'Register, read, change and delete webhooks.',
  sessions: 'Start, read and end sessions.',
  'deliveries:write': 'Send envelopes.',
  'operations:read': 'Look at the state of the relay.',
  'operations:write': 'Operate the relay.',
  operations: 'Operate the relay, and create and change its clients.',
};

export const securitySchemes = (publicUrl: string): Schema => ({
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
