import { ClientFacts, OPERATOR_ROLES } from '@relay/identity';
import { z } from 'zod';
import { cursor } from '../http/cursor.js';

const kind = ClientFacts.shape.kind;

export const ClientQuery = z.strictObject({
  kind: kind.optional().describe('Only clients of this kind.'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000).describe('Longest page: 1 to 10,000.'),
  cursor,
});

const name = z
  .string()
  .min(1)
  .max(200)
  .refine(
    (text) => text.trim() !== '' && !/\p{Cc}/u.test(text),
    'a readable name without control characters is expected',
  )
  .describe('People recognise the client by it: 1 to 200 characters, no control characters.');

export const NewClient = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('partner'), name }),
    z.strictObject({
      kind: z.literal('source'),
      name,
      partners: z.array(z.string().min(1).max(100)).max(100).default([]).describe('Partners it is bound to.'),
      credential: z
        .enum(['client', 'apiKey'])
        .default('client')
        .describe('`client`: client id and secret; `apiKey`: a key. Others are made by `relay sources create`.'),
    }),
    z.strictObject({ kind: z.literal('operator'), name, role: z.enum(OPERATOR_ROLES) }),
  ])
  .meta({ id: 'NewClient', description: 'A client to create.' });
export type NewClient = z.infer<typeof NewClient>;

export const ClientChange = z
  .strictObject({ role: z.enum(OPERATOR_ROLES).describe('The new role of an operator; other clients have none.') })
  .meta({ id: 'ClientChange', description: 'What is to be changed of a client.' });
export type ClientChange = z.infer<typeof ClientChange>;

export const IssuedClient = z
  .union([
    z.object({ clientId: z.string(), clientSecret: z.string() }),
    z.object({ clientId: z.string(), apiKey: z.string() }),
  ])
  .meta({ id: 'IssuedClient', description: 'The credential of a client, shown this once.' });
export type IssuedClient = z.infer<typeof IssuedClient>;

export const ClientList = z
  .object({ total: z.int().describe('Without `limit`.'), clients: z.array(ClientFacts) })
  .meta({ id: 'Clients', description: 'Clients, oldest first.' });

export const Rotation = z
  .strictObject({
    endsTokens: z
      .boolean()
      .default(false)
      .describe(
        'Whether all earlier secrets and tokens end at once; else the present secret works until the next rotation.',
      ),
    force: z.boolean().default(false).describe('Rotates although the last rotation was less than 60 s ago.'),
  })
  .meta({ id: 'Rotation', description: 'How a secret is rotated.' });
export type Rotation = z.infer<typeof Rotation>;
