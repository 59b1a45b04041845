import type { Keyring } from '@relay/keyring';
import { z } from 'zod';
import { credentialOf } from './credential.js';
import { credentialHash, seal, sealCredential } from './sealing.js';
import type { StoredWebhook } from './stored-webhook.js';
import type { WebhookInput } from './webhook.js';

/** A registration whose URL was found to be a permitted destination: `url` is its normalised form. */
export type WebhookDraft = WebhookInput & { readonly url: string; readonly origin: string };

type Replaced = 'endPointUrl' | 'url' | 'origin' | 'endPointDesc' | 'endPointName' | 'credential' | 'credentialHash';
type Changeable = Replaced | 'secrets' | 'oldSecretUntil' | 'status' | 'disabledReason';
/** What an update writes; null removes a member. */
export type WebhookChanges = {
  [Name in Changeable]:
    Exclude<StoredWebhook[Name], undefined> | (undefined extends StoredWebhook[Name] ? null : never);
};

/**
 * A change of the registrations, complete in itself: ids, times and sealed values are decided before, so that applying
 * it is deterministic and needs no key. `webhook-command.script.ts` applies it.
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
      readonly changes: Partial<WebhookChanges>;
    }
  | {
      readonly kind: 'delete';
      readonly partnerId: string;
      readonly eventType: string;
      readonly id?: string;
      readonly ifVersion?: number;
    };

/** `version` is the registry's after the change; `enabled` says why a webhook had been disabled that is active by it. `stale`: what the command was built upon is no longer so; build it again. */
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

/** An update brings back a webhook that was disabled. */
export const ENABLED = { status: 'active', disabledReason: null } as const;
/** Where endpoints are verified: until a test delivery was answered 2xx what comes for it waits. */
export const UNVERIFIED = { status: 'disabled', disabledReason: 'unverified' } as const;
/** How a webhook stands that was registered or changed. */
export type Fresh = typeof ENABLED | typeof UNVERIFIED;

/** How many webhooks a partner may have; `perOrigin` of one event type, without it any number. */
export interface CommandLimits {
  readonly perPartner: number;
  readonly perOrigin?: number;
}

/** Everything by chance or clock that a registration needs. `signingKey` is 32 random bytes, `iv` 12 at every call. */
export interface Chance {
  readonly id: string;
  readonly signingKey: Buffer;
  readonly now: number;
  readonly iv: () => Buffer;
}

export function registerCommand(
  partnerId: string,
  draft: WebhookDraft,
  { perPartner: limit, perOrigin: originLimit }: CommandLimits,
  keyring: Keyring,
  chance: Chance,
  fresh: Fresh = ENABLED,
): WebhookCommand {
  const place = { partnerId, id: chance.id };
  const { endPointDesc, endPointName, ...members } = replaced(place, draft, keyring, chance.iv);
  const secret = `whsec_${chance.signingKey.toString('base64')}`;
  const webhook = {
    ...place,
    eventType: draft.eventType,
    ...members,
    ...(endPointDesc === null ? {} : { endPointDesc }),
    ...(endPointName === null ? {} : { endPointName }),
    secrets: [seal(secret, 'secret', place, keyring, chance.iv)],
    status: fresh.status,
    ...(fresh.disabledReason === null ? {} : { disabledReason: fresh.disabledReason }),
    createdAt: chance.now,
    updatedAt: chance.now,
  };
  return { kind: 'register', limit, ...(originLimit === undefined ? {} : { originLimit }), webhook };
}

export function updateCommand(
  target: { partnerId: string; id: string; only: boolean; originLimit?: number },
  draft: WebhookDraft,
  keyring: Keyring,
  chance: Pick<Chance, 'now' | 'iv'>,
  fresh: Fresh = ENABLED,
  /** The version at which nothing is to be verified: the webhook stays as it is, if it still has that. */
  verified?: number,
): WebhookCommand {
  const changes = replaced(target, draft, keyring, chance.iv);
  return {
    kind: 'update',
    ...target,
    eventType: draft.eventType,
    at: chance.now,
    ...(verified === undefined ? { changes: { ...changes, ...fresh } } : { changes, ifVersion: verified }),
  };
}

function replaced(
  place: { partnerId: string; id: string },
  draft: WebhookDraft,
  keyring: Keyring,
  iv: () => Buffer,
): Pick<WebhookChanges, Replaced> {
  const credential = credentialOf(draft);
  if (credential === undefined) throw new TypeError('A webhook without a credential passed validation');
  return {
    endPointUrl: draft.endPointUrl,
    url: draft.url,
    origin: draft.origin,
    endPointDesc: draft.endPointDesc ?? null,
    endPointName: draft.endPointName ?? null,
    credential: sealCredential(credential, place, keyring, iv),
    credentialHash: credentialHash(credential, keyring),
  };
}
