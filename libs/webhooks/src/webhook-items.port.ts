import type { WebhookChanges } from './webhook-command.js';
import type { Webhook } from './webhook-view.js';
import type { WebhookDetails, WebhookPatch } from './webhook-details.js';

/** What a patch puts in place of what is there; `url` and `origin` when it names another endPointUrl. */
export type PatchDraft = WebhookPatch & { readonly url?: string; readonly origin?: string };

/** A webhook as its partner sees it, at one version. */
export interface Versioned {
  readonly details: Omit<WebhookDetails, 'waiting'>;
  readonly version: number;
}

export type Change = Partial<WebhookChanges>;

/** `stale`: it no longer has the version that the caller named. */
export type ItemResult =
  | { readonly kind: 'updated'; readonly id: string; readonly version: number }
  | { readonly kind: 'exists'; readonly id: string }
  | { readonly kind: 'not-found' | 'stale' | 'origin-limit' };
export type RemoveResult = { readonly kind: 'deleted' | 'not-found' | 'stale' };

/**
 * One registration by its id, for the partner that owns it; for any other it does not exist. A change with `ifVersion` is made
 * only while the webhook has that version. Rejects as WebhookStore does.
 */
export abstract class WebhookItems {
  abstract find(partnerId: string, id: string): Promise<Versioned | undefined>;
  /** Changes what the patch names and nothing else. */
  abstract patch(partnerId: string, id: string, patch: PatchDraft, ifVersion?: number): Promise<ItemResult>;
  abstract remove(partnerId: string, id: string, ifVersion?: number): Promise<RemoveResult>;
  /** The new secret; the one before signs along for 24 h. */
  abstract rotateSecret(partnerId: string, id: string): Promise<string | undefined>;
  /** Nothing is sent to it until it is enabled or updated; only while it is active and has that version. */
  abstract disable(partnerId: string, id: string, reason: string, ifVersion: number): Promise<ItemResult>;
  /** Makes it active whatever it was, with `ifVersion` only while it has that version. */
  abstract enable(partnerId: string, id: string, ifVersion?: number): Promise<ItemResult>;
  /** As deliveries see it. */
  abstract deliverable(partnerId: string, id: string): Promise<Webhook | undefined>;
}
