import { SCOPES_OF } from '@relay/identity';
import type { Route } from './routes.js';
import type { Schema } from './schema-book.js';

const SCOPE_MEANS: Readonly<Record<string, string>> = {
  webhooks: 'Register, read, change and delete webhooks.',
  sessions: 'Start, read and end sessions.',
  'deliveries:write': 'Send envelopes.',
  operations: 'Operate the relay.',
};

/** The security requirements of a route; several are alternatives, an empty one means that none is needed. */
export function securityOf({ access, scopes }: Route): Record<string, readonly string[]>[] {
  switch (access) {
    case 'public':
      return [];
    case 'client':
      return [{ client: [] }];
    case 'bearer':
      return [{ token: scopes }];
    case 'listing':
      return [{ token: scopes }, {}];
    case 'source':
      return [{ token: scopes }, { sourceKey: [] }, { sourceJwt: [] }, { sourceBasic: [] }];
    default:
      return access satisfies never;
  }
}

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
  client: { type: 'http', scheme: 'basic', description: 'Client id and client secret.' },
  sourceKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The API key of a source that has one.' },
  sourceJwt: { type: 'http', scheme: 'bearer', description: 'The fixed JWT of a source that has one.' },
  sourceBasic: { type: 'http', scheme: 'basic', description: 'User name and password of a source that has them.' },
});
