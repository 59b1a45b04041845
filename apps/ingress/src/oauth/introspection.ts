import { z } from 'zod';

/** The answer of RFC 7662 section 2.2; about an inactive token it says only that it is inactive. */
export const Introspection = z
  .object({
    active: z.boolean().describe('Whether the relay would take the token now.'),
    scope: z.string().optional(),
    client_id: z.string().optional(),
    token_type: z.literal('bearer').optional(),
    exp: z.int().optional().describe('When it ends, Unix seconds.'),
    iat: z.int().optional().describe('When it was issued, Unix seconds.'),
    sub: z.string().optional(),
    aud: z.string().optional(),
    iss: z.string().optional(),
    jti: z.string().optional(),
  })
  .meta({ id: 'Introspection', description: 'What the relay knows of a token (RFC 7662).' });
export type Introspection = z.infer<typeof Introspection>;
