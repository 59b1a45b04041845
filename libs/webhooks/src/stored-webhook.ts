import { EVENT_TYPES } from '@relay/events';
import { z } from 'zod';
import type { WebhookRecord } from './webhook.js';

/** A credential as it is kept: its kind in the open, each field sealed by the keyring for this webhook and field. */
export const SealedCredential = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('apiKey'), apiKey: z.string() }),
  z.object({ kind: z.literal('jwt'), jwt: z.string() }),
  z.object({ kind: z.literal('basic'), userName: z.string(), password: z.string() }),
]);
export type SealedCredential = z.infer<typeof SealedCredential>;

/** A webhook as the hash `webhooks` keeps it. `url` is the normalised address that is used, `endPointUrl` what the partner wrote. */
export const StoredWebhook = z.object({
  id: z.string(),
  partnerId: z.string(),
  eventType: z.enum(EVENT_TYPES),
  endPointUrl: z.string(),
  url: z.string(),
  origin: z.string(),
  endPointDesc: z.string().optional(),
  endPointName: z.string().optional(),
  credential: SealedCredential,
  /** Keyed hash of the credential: what a listing by credential finds it by. */
  credentialHash: z.string(),
  /** Signing secrets, sealed; the first is the one in force. */
  secrets: z.array(z.string()).min(1),
  /** Until when all but the first sign along, epoch milliseconds; without it they always do. */
  oldSecretUntil: z.number().optional(),
  status: z.enum(['active', 'parked', 'disabled']),
  disabledReason: z.string().optional(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
  updatedAt: z.number(),
  /** Registry version of the registration (its place in listings) and of the last change. */
  sequence: z.number(),
  version: z.number(),
});
export type StoredWebhook = z.infer<typeof StoredWebhook>;

export const readStored = (json: string): StoredWebhook => StoredWebhook.parse(JSON.parse(json));

export const recordOf = (stored: StoredWebhook): WebhookRecord => ({
  id: stored.id,
  eventType: stored.eventType,
  endPointUrl: stored.endPointUrl,
  endPointDesc: stored.endPointDesc ?? null,
  endPointName: stored.endPointName ?? null,
});
