import { ClientFacts, IssuedClient, NewClient } from '@relay/identity';
import { LINK, type OperationText } from '@relay/openapi';
import { z } from 'zod';
import { ClientChange, ClientList, ClientQuery, Rotation } from './client-request.js';

const tag = 'Clients';
const path = { id: { schema: z.string().max(100).describe('Client id.'), example: 'partner_0Zt1' } };
const issued = { content: { schema: IssuedClient } };

export const listClients: OperationText = {
  id: 'listClients',
  tag,
  summary: 'List partners, sources and operators',
  query: ClientQuery,
  answer: { description: 'The clients.', headers: LINK, content: { schema: ClientList } },
};

export const readClient: OperationText = {
  id: 'readClient',
  tag,
  summary: 'Read one client',
  path,
  answer: { description: 'The client.', content: { schema: ClientFacts } },
  problems: ['not-found'],
};

export const createClient: OperationText = {
  id: 'createClient',
  tag,
  summary: 'Create a client',
  body: { isRequired: true, schema: NewClient, example: { kind: 'partner', name: 'acme' } },
  answer: { description: 'It is created. Its credential is shown this once.', ...issued },
};

export const changeClient: OperationText = {
  id: 'changeClient',
  tag,
  summary: 'Change the role of an operator',
  description:
    'Within two seconds, also for its open sessions and its tokens: a token keeps those of its scopes that the new role has; a higher role needs a new token. A client that is no operator is a conflict, and so is the last enabled admin, who would leave none.',
  path: { id: { ...path.id, example: 'operator_0Zt1' } },
  body: { isRequired: true, schema: ClientChange, example: { role: 'operator' } },
  answer: { description: 'The changed client.', content: { schema: ClientFacts } },
  problems: ['not-found', 'conflict'],
};

export const rotateClient: OperationText = {
  id: 'rotateClient',
  tag,
  summary: 'Issue a new secret for a client',
  description:
    'A client that was rotated less than 60 s ago is a conflict unless `force` is true: a repeated call would end a secret in use.',
  path,
  body: { isRequired: false, schema: Rotation, example: { endsTokens: false, force: false } },
  answer: { description: 'The new secret, shown this once.', ...issued },
  problems: ['not-found', 'conflict'],
};

export const disableClient: OperationText = {
  id: 'disableClient',
  tag,
  summary: 'Disable a client and end its tokens',
  description: 'Within seconds. The webhooks of a partner still get deliveries. Operators cannot disable themselves.',
  path,
  answer: { description: 'The disabled client.', content: { schema: ClientFacts } },
  problems: ['not-found', 'conflict'],
};

export const enableClient: OperationText = {
  id: 'enableClient',
  tag,
  summary: 'Enable a disabled client',
  description: 'With its former credentials, within seconds. Its former tokens stay ended.',
  path,
  answer: { description: 'The enabled client.', content: { schema: ClientFacts } },
  problems: ['not-found'],
};
