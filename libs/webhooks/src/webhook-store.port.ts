import type { Credential } from './credential.js';
import type { PatchDraft, WebhookDraft } from './webhook-changes.js';
import type { CommandResult } from './stored-webhook.js';
import type { Webhook } from './webhook-view.js';
import type { WebhookDetails, WebhookRecord } from './webhook.js';

type Result<Kind extends CommandResult['kind']> = Extract<CommandResult, { kind: Kind }>;
export type RegisterResult = Result<'created' | 'exists' | 'limit' | 'origin-limit'>;
/** `stale`: the webhook no longer has a version that the caller named. */
export type UpdateResult = Result<'updated' | 'not-found' | 'exists' | 'origin-limit' | 'stale'> | Ambiguous;
export type DeleteResult = Result<'deleted' | 'not-found' | 'stale'> | Ambiguous;
export type ChangeResult = Result<'updated' | 'not-found' | 'exists' | 'origin-limit' | 'stale'>;
export type RemoveResult = Result<'deleted' | 'not-found' | 'stale'>;
/** The versions of which a webhook must have one; any without them. */
export type Versions = readonly number[];
export type RotateResult = { readonly kind: 'rotated'; readonly secret: string } | Result<'not-found' | 'stale'>;
interface Ambiguous {
  readonly kind: 'ambiguous';
  /** Every webhook of the event type. */
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

export interface DetailsListing extends Omit<Listing, 'credential'> {
  /** The only webhooks that are listed, as many as a page has at most. */
  readonly ids?: readonly string[] | undefined;
}

/** `next` is there when more follow. */
export interface Page {
  readonly records: readonly WebhookRecord[];
  readonly next?: number;
  /** Number of records that were read for it. */
  readonly read: number;
}

/** A webhook with its state, but for its deliveries. */
export type RegisteredWebhook = Omit<WebhookDetails, 'waiting'>;

/** As `Page`. */
export interface DetailsPage extends Pick<Page, 'next' | 'read'> {
  readonly webhooks: readonly RegisteredWebhook[];
}

/** A webhook as its partner sees it, at one version. */
export interface Versioned {
  readonly details: RegisteredWebhook;
  readonly version: number;
}

/**
 * The registrations of all partners. A partner sees none that it does not own. Changes of one webhook are applied whole and
 * one after the other; with `ifVersions` only while the webhook has one of these versions. A change is visible to every later call
 * once its promise has resolved. Rejects when the store cannot be reached: the change may then be applied or not.
 */
export abstract class WebhookStore {
  abstract register(partnerId: string, draft: WebhookDraft): Promise<RegisterResult>;
  /** Replaces all attributes; without `id` of the partner's only webhook of that event type. */
  abstract update(partnerId: string, draft: WebhookDraft, id?: string, ifVersions?: Versions): Promise<UpdateResult>;
  /** Changes the members that the patch names and nothing else. */
  abstract patch(partnerId: string, id: string, patch: PatchDraft, ifVersions?: Versions): Promise<ChangeResult>;
  /** Deletes a webhook of the event type; without `id` the partner's only one. */
  abstract delete(partnerId: string, eventType: string, id?: string, ifVersions?: Versions): Promise<DeleteResult>;
  abstract remove(partnerId: string, id: string, ifVersions?: Versions): Promise<RemoveResult>;
  /** Its deliveries wait until it is enabled. `stale` also if it is disabled already; an operator's stop replaces another reason. */
  abstract disable(partnerId: string, id: string, reason: string, ifVersions?: Versions): Promise<ChangeResult>;
  /** Makes it active from any state, or `unverified` if its endpoint has to be verified first. */
  abstract enable(partnerId: string, id: string, ifVersions?: Versions): Promise<ChangeResult>;
  /** The new signing secret, or the present one if it was rotated within the last 60 s. The former one signs for another 24 h. */
  abstract rotateSecret(partnerId: string, id: string, ifVersions?: Versions): Promise<RotateResult>;
  /** Oldest first. */
  abstract list(partnerId: string, listing: Listing): Promise<Page>;
  /** As `list`, with the state of each; with `ids` of the webhooks among them. */
  abstract listDetails(partnerId: string, listing: DetailsListing): Promise<DetailsPage>;
  /** The ids of all webhooks of the partner, or of those of one event type, oldest first. */
  abstract idsOf(partnerId: string, eventType?: string): Promise<string[]>;
  abstract find(partnerId: string, id: string): Promise<Versioned | undefined>;
  abstract deliverable(partnerId: string, id: string): Promise<Webhook | undefined>;
  abstract signingSecret(partnerId: string, id: string): Promise<string | undefined>;
  /** The partner whose webhooks have this credential; undefined for none or several. */
  abstract partnerWith(credential: Credential): Promise<string | undefined>;
}
