import { z } from 'zod';

/** The credential kinds that the specification gives to endpoints; a source may have one instead of a client secret. */
export const CREDENTIAL_TYPES = ['apiKey', 'jwt', 'basic'] as const;
export type CredentialType = (typeof CREDENTIAL_TYPES)[number];

/** One client as stored; its secrets only as keyed hashes. */
export const ClientRecord = z.object({
  clientId: z.string(),
  kind: z.enum(['partner', 'source', 'operator']),
  name: z.string(),
  scopes: z.array(z.string()),
  /** Up to two valid secrets, the newest first, so that a rotation needs no outage. */
  secretHashes: z.array(z.string()).max(2),
  /** Epoch milliseconds of the last rotation. */
  rotatedAt: z.number().optional(),
  /** Of the newest secret, see `generation.ts`. */
  generation: z.int(),
  /** Keyed hash of a source's fixed credential. */
  credential: z.object({ type: z.enum(CREDENTIAL_TYPES), hash: z.string() }).optional(),
  /** Partners a source is bound to; empty: to none. */
  audience: z.array(z.string()),
  disabled: z.boolean(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
});
export type ClientRecord = z.infer<typeof ClientRecord>;
