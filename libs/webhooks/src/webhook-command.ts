import { z } from 'zod';
import type { StoredWebhook } from './stored-webhook.js';

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
      /** Commands of earlier releases name none where the webhook was the partner's only one of its event type. */
      readonly id?: string;
      /** As of `update`. */
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
/** Where endpoints are verified: deliveries wait until the endpoint answers a test delivery with 2xx. */
export const UNVERIFIED = { status: 'disabled', disabledReason: 'unverified' } as const;

/** State of a webhook right after it was registered or changed. */
export type Fresh = typeof ENABLED | typeof UNVERIFIED;
