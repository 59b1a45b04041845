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

/** What of a webhook the hash `webhooks` keeps. `url` is the normalised address that is used, `endPointUrl` what the partner wrote. */
export const StoredRecord = z.object({
  id: z.string(),
  partnerId: z.string(),
  eventType: z.enum(EVENT_TYPES),
  endPointUrl: z.string(),
  url: z.string(),
  origin: z.string(),
  endPointDesc: z.string().optional(),
  endPointName: z.string().optional(),
  credentialKind: z.enum(['apiKey', 'jwt', 'basic']),
  /** Keyed hash of the credential: what a listing by credential finds it by. */
  credentialHash: z.string(),
  status: z.enum(['active', 'parked', 'disabled']),
  disabledReason: z.string().optional(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
  updatedAt: z.number(),
  /** Registry version of the registration (its place in listings) and of the last change. */
  sequence: z.number(),
  version: z.number(),
});
export type StoredRecord = z.infer<typeof StoredRecord>;

/** What of a webhook the hash `webhooks:sealed` keeps. */
const SealedParts = z.object({
  credential: SealedCredential,
  /** Signing secrets, sealed; the first is the one in force. */
  secrets: z.array(z.string()).min(1),
  /** Until when all but the first sign along, epoch milliseconds; without it they always do. */
  oldSecretUntil: z.number().optional(),
});

/** All of a webhook: what a command carries. */
export const StoredWebhook = StoredRecord.omit({ credentialKind: true }).extend(SealedParts.shape);
export type StoredWebhook = z.infer<typeof StoredWebhook>;

export const readRecord = (json: string): StoredRecord => StoredRecord.parse(JSON.parse(json));

/** The record and what is kept sealed, as one script read them. */
export const readStored = (record: string, sealed: string): StoredWebhook =>
  StoredWebhook.parse({ ...readRecord(record), ...SealedParts.parse(JSON.parse(sealed)) });

export const recordOf = (stored: Omit<StoredRecord, 'credentialKind'>): WebhookRecord => ({
  id: stored.id,
  eventType: stored.eventType,
  endPointUrl: stored.endPointUrl,
  endPointDesc: stored.endPointDesc ?? null,
  endPointName: stored.endPointName ?? null,
});
