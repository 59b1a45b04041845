import type { EnvelopeType } from '@relay/events';
import { z } from 'zod';
import { optionalMembers, shownAttributes } from './webhook-attributes.js';
import type { WebhookDetails, WebhookRecord } from './webhook.js';

/** A credential at rest: its kind in clear text, each field sealed by the keyring for this webhook and field. */
export const SealedCredential = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('apiKey'), apiKey: z.string() }),
  z.object({ kind: z.literal('jwt'), jwt: z.string() }),
  z.object({ kind: z.literal('basic'), userName: z.string(), password: z.string() }),
]);
export type SealedCredential = z.infer<typeof SealedCredential>;

/** A webhook in the hash `webhooks`. `url` is the normalised address that is used, `endPointUrl` what the partner wrote. */
export const StoredRecord = z.object({
  id: z.string(),
  partnerId: z.string(),
  /** Not only those of this release: while a newer one is rolled out, its ingresses register webhooks for new types. */
  eventType: z.custom<EnvelopeType>((value) => typeof value === 'string'),
  endPointUrl: z.string(),
  url: z.string(),
  origin: z.string(),
  ...optionalMembers('stored'),
  credentialKind: z.enum(['apiKey', 'jwt', 'basic']),
  /** Keyed hash of the credential, which a listing by credential looks up. */
  credentialHash: z.string(),
  status: z.enum(['active', 'disabled']),
  disabledReason: z.string().optional(),
  /** Its endpoint changed while a person had stopped it, and has not been verified. */
  isUntested: z.boolean().optional(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
  updatedAt: z.number(),
  /** Registry version of the registration (its place in listings) and of the last change. */
  sequence: z.number(),
  version: z.number(),
});
export type StoredRecord = z.infer<typeof StoredRecord>;

/** The sealed values of a webhook in the hash `webhooks:sealed`. */
const SealedParts = z.object({
  credential: SealedCredential,
  /** Signing secrets, sealed; the first is the one in force. */
  secrets: z.array(z.string()).min(1),
  /** Epoch milliseconds until which the second secret signs as well; set by a rotation. */
  oldSecretUntil: z.number().optional(),
  /** The same of the third secret, which signs if it was rotated twice within its time. */
  olderSecretUntil: z.number().optional(),
});

/** The whole webhook, as a command carries it. */
export const StoredWebhook = StoredRecord.omit({ credentialKind: true }).extend(SealedParts.shape);
export type StoredWebhook = z.infer<typeof StoredWebhook>;

export const readRecord = (json: string): StoredRecord => StoredRecord.parse(JSON.parse(json));

/** A webhook from its record and its sealed values, as one script read them. */
export const readStored = (record: string, sealed: string): StoredWebhook =>
  StoredWebhook.parse({ ...readRecord(record), ...SealedParts.parse(JSON.parse(sealed)) });

export const recordOf = ({ id, eventType, endPointUrl, ...stored }: StoredRecord): WebhookRecord => ({
  id,
  eventType,
  endPointUrl,
  endPointDesc: stored.endPointDesc ?? null,
  endPointName: stored.endPointName ?? null,
});

export const detailsOf = (stored: StoredRecord): Omit<WebhookDetails, 'waiting'> => ({
  id: stored.id,
  eventType: stored.eventType,
  endPointUrl: stored.endPointUrl,
  ...shownAttributes(stored),
  status: stored.status,
  disabledReason: stored.disabledReason ?? null,
  createdAt: new Date(stored.createdAt).toISOString(),
  updatedAt: new Date(stored.updatedAt).toISOString(),
  credentialType: stored.credentialKind,
});
