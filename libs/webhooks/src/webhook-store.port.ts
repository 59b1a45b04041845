import type { Credential } from './credential.js';
import type { CommandResult, WebhookDraft } from './webhook-command.js';
import type { WebhookRecord } from './webhook.js';

type Result<Kind extends CommandResult['kind']> = Extract<CommandResult, { kind: Kind }>;
export type RegisterResult = Result<'created' | 'exists' | 'limit' | 'origin-limit'>;
export type UpdateResult = Result<'updated' | 'not-found' | 'exists' | 'origin-limit'> | Ambiguous;
export type DeleteResult = Result<'deleted' | 'not-found'> | Ambiguous;
interface Ambiguous {
  readonly kind: 'ambiguous';
  /** All that may be meant. */
  readonly ids: readonly string[];
}

export interface Listing {
  readonly eventType?: string | undefined;
  /** Only webhooks registered with this credential. */
  readonly credential?: Credential | undefined;
  /** `next` of the page before. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** `next` is there when more follow. */
export interface Page {
  readonly records: readonly WebhookRecord[];
  readonly next?: number;
  /** Of how many records it was made. */
  readonly read: number;
}

/**
 * The registrations of all partners. What a partner does not own does not exist for it. Changes of one webhook are
 * applied whole and one after the other; a change is visible to every later call once its promise has resolved.
 * Rejects when the store cannot be reached: a change may then have been applied or not.
 */
export abstract class WebhookStore {
  abstract register(partnerId: string, draft: WebhookDraft): Promise<RegisterResult>;
  /** Replaces all attributes; without `id` of the partner's only webhook of that event type. */
  abstract update(partnerId: string, draft: WebhookDraft, id?: string): Promise<UpdateResult>;
  abstract delete(partnerId: string, eventType: string, id?: string): Promise<DeleteResult>;
  /** Oldest first. */
  abstract list(partnerId: string, listing: Listing): Promise<Page>;
  /** All of them, oldest first. */
  abstract idsOf(partnerId: string): Promise<string[]>;
  /** The partner whose webhooks have this credential, if it is exactly one. */
  abstract partnerWith(credential: Credential): Promise<string | undefined>;
  /** The signing secret in force, for the owner. */
  abstract signingSecret(partnerId: string, id: string): Promise<string | undefined>;
}
