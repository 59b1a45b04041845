import { ClientFacts, OPERATOR_ROLES } from '@relay/identity';
import { z } from 'zod';
import { cursor } from '../http/cursor.js';

const kind = ClientFacts.shape.kind;

export const ClientQuery = z.strictObject({
  kind: kind.optional().describe('Only clients of this kind.'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000).describe('Longest page: 1 to 10,000.'),
  cursor,
});

export const ClientChange = z
  .strictObject({ role: z.enum(OPERATOR_ROLES).describe('The new role of an operator; other clients have none.') })
  .meta({ id: 'ClientChange', description: 'What is to be changed of a client.' });
export type ClientChange = z.infer<typeof ClientChange>;

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
