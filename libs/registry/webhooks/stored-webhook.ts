import type { EnvelopeType } from '@relay/events';
import { z } from 'zod';
import { optionalMembers, shownAttributes, type WebhookDetails, type WebhookRecord } from './webhook.js';

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
  /** May be unknown to this release: while a newer one is rolled out, its ingresses register webhooks for new types. */
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
  /** Epoch milliseconds until which the second secret also signs; set by a rotation. */
  oldSecretUntil: z.number().optional(),
  /** End of the third secret, which signs if the secret was rotated twice within its time. */
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

type Fixed = 'id' | 'partnerId' | 'eventType' | 'createdAt' | 'updatedAt' | 'sequence' | 'version';
/** The members that an update writes; null removes one. */
export type WebhookChanges = {
  [Name in Exclude<keyof StoredWebhook, Fixed>]?:
    | Exclude<StoredWebhook[Name], undefined>
    | (undefined extends StoredWebhook[Name] ? null : never);
};

/**
 * A change of the registrations, complete in itself: it holds ids, times and sealed values, so that applying it is
 * deterministic and needs no key. `webhook-command.script.ts` applies it.
 */
export type WebhookCommand =
  | {
      readonly kind: 'register';
      readonly limit: number;
      /** How many of the partner's webhooks with this event type may have one origin. */
      readonly originLimit?: number;
      readonly webhook: Omit<StoredWebhook, 'sequence' | 'version'>;
    }
  | {
      readonly kind: 'update';
      readonly partnerId: string;
      readonly eventType: string;
      readonly id: string;
      /** The webhook must be the partner's only one of its event type. */
      readonly only: boolean;
      /** The version it must still have, if any (If-Match). */
      readonly ifVersion?: number;
      readonly at: number;
      /** As of `register`, for one that moves to another origin. */
      readonly originLimit?: number;
      readonly changes: WebhookChanges;
    }
  | {
      readonly kind: 'delete';
      readonly partnerId: string;
      readonly eventType: string;
      /** Commands of earlier releases name none if the webhook was the partner's only one of its event type. */
      readonly id?: string;
      readonly only?: boolean;
      readonly ifVersion?: number;
    };

/**
 * `version` is the registry's after the change. `enabled` is the reason for which the webhook was disabled until this change.
 * `stale`: the webhook changed since the command was built.
 */
export const CommandResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('created'), id: z.string(), version: z.number() }),
  z.object({ kind: z.literal('updated'), id: z.string(), version: z.number(), enabled: z.string().optional() }),
  z.object({ kind: z.literal('deleted'), id: z.string(), version: z.number() }),
  z.object({ kind: z.literal('exists'), id: z.string() }),
  z.object({ kind: z.literal('ambiguous') }),
  z.object({ kind: z.literal('limit') }),
  z.object({ kind: z.literal('origin-limit') }),
  z.object({ kind: z.literal('not-found') }),
  z.object({ kind: z.literal('stale') }),
]);
export type CommandResult = z.infer<typeof CommandResult>;

/** A changed webhook is active again, also one that was disabled. */
export const ENABLED = { status: 'active', disabledReason: null } as const;
/** Set if endpoints are verified: deliveries wait until the endpoint answers a test delivery with 2xx. */
export const UNVERIFIED = { status: 'disabled', disabledReason: 'unverified' } as const;

export type Fresh = typeof ENABLED | typeof UNVERIFIED;
