import { z } from 'zod';
import { OPERATOR_ROLES } from './operator-role.js';

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
        .union([
          z.enum(['client', 'apiKey']),
          z.strictObject({ jwt: z.string().min(1).max(4_096) }),
          z.strictObject({ userName: z.string().min(1).max(4_000) }),
        ])
        .default('client')
        .describe(
          '`client`: client id and secret; `apiKey`: a key; `jwt`: this signed JWT; `userName`: a password for this user.',
        ),
    }),
    z.strictObject({ kind: z.literal('operator'), name, role: z.enum(OPERATOR_ROLES) }),
  ])
  .meta({ id: 'NewClient', description: 'A client to create.' });
export type NewClient = z.infer<typeof NewClient>;

export const IssuedClient = z
  .union([
    z.object({ clientId: z.string(), clientSecret: z.string() }),
    z.object({ clientId: z.string(), apiKey: z.string() }),
    z.object({ clientId: z.string(), userName: z.string(), password: z.string() }),
    z.object({ clientId: z.string() }).describe('Of a source with a JWT of its own.'),
  ])
  .meta({ id: 'IssuedClient', description: 'The credential of a client, shown this once.' });
export type IssuedClient = z.infer<typeof IssuedClient>;
