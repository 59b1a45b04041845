import { z } from 'zod';
import { CREDENTIAL_TYPES, type ClientRecord } from './client.js';
import { OPERATOR_ROLES, roleOf } from './operator-role.js';

/** A client as operators see it: its record without secrets and their hashes. */
export const ClientFacts = z
  .object({
    clientId: z.string(),
    kind: z.enum(['partner', 'source', 'operator']),
    name: z.string().describe('People recognise it by this.'),
    role: z.enum(OPERATOR_ROLES).nullable().describe('Of an operator; `null` for others.'),
    scopes: z.array(z.string()),
    credentialType: z.enum(['client', ...CREDENTIAL_TYPES]).describe('`client`: client id and secret.'),
    partners: z.array(z.string()).describe('The partners a source is bound to; empty: to none.'),
    disabled: z.boolean(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Client', description: 'A partner, a source or an operator.' });
export type ClientFacts = z.infer<typeof ClientFacts>;

export const clientFacts = ({ credential, audience, createdAt, ...client }: ClientRecord): ClientFacts => ({
  clientId: client.clientId,
  kind: client.kind,
  name: client.name,
  role: client.kind === 'operator' ? (roleOf(client.scopes) ?? null) : null,
  scopes: client.scopes,
  credentialType: credential?.type ?? 'client',
  partners: audience,
  disabled: client.disabled,
  createdAt: new Date(createdAt).toISOString(),
});
