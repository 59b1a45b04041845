import { randomBytes, randomUUID } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { Credential } from './credential.js';
import { credentialHashes, openSecret } from './sealing.js';
import { detailsOf, recordOf, type StoredRecord, type StoredWebhook } from './stored-webhook.js';
import { StoredWebhooks } from './stored-webhooks.adapter.js';
import {
  isSameEndpoint,
  patchChanges,
  registerCommand,
  rotation,
  updateCommand,
  type PatchDraft,
  type Seal,
  type WebhookDraft,
  type WebhookLimits,
} from './webhook-changes.js';
import { ENABLED, type Fresh, type WebhookChanges, type WebhookCommand } from './webhook-command.js';
import { WebhookCommands } from './webhook-commands.adapter.js';
import {
  WebhookStore,
  type ChangeResult,
  type DeleteResult,
  type DetailsListing,
  type DetailsPage,
  type Listing,
  type Page,
  type RegisterResult,
  type RemoveResult,
  type UpdateResult,
  type Versioned,
} from './webhook-store.port.js';
import { openedOf, webhookOf, type Webhook } from './webhook-view.js';

export interface WebhookStoreOptions extends WebhookLimits {
  /** State of a registered webhook, and of one whose endpoint changes; active unless named. */
  readonly fresh?: Fresh;
  readonly now?: () => number;
}

/** Registrations in Redis, in the layout of `webhook-layout.script.ts`; commands of the registry change them. */
export class RedisWebhookStore extends WebhookStore {
  readonly #stored: StoredWebhooks;
  readonly #commands: WebhookCommands;
  readonly #seals: Seal;
  readonly #fresh: Fresh;
  readonly #now: () => number;

  constructor(
    redis: Redis,
    private readonly registry: LogView<WebhookCommand>,
    private readonly keyring: Keyring,
    private readonly options: WebhookStoreOptions = {},
  ) {
    super();
    this.#stored = new StoredWebhooks(redis);
    this.#commands = new WebhookCommands(this.#stored, registry);
    this.#seals = { keyring, iv: () => randomBytes(12) };
    this.#fresh = options.fresh ?? ENABLED;
    this.#now = options.now ?? Date.now;
  }

  async register(partnerId: string, draft: WebhookDraft): Promise<RegisterResult> {
    const place = { partnerId, id: randomUUID() };
    const chance = { signingKey: randomBytes(32), now: this.#now() };
    const command = registerCommand(place, draft, this.options, this.#seals, chance, this.#fresh);
    return this.#commands.send(command, ['created', 'exists', 'limit', 'origin-limit']);
  }

  async update(partnerId: string, draft: WebhookDraft, id?: string): Promise<UpdateResult> {
    const { eventType } = draft;
    await this.registry.current();
    for (;;) {
      // A credential is sealed for one id, so the only webhook is looked up first; the script checks that it still is.
      const target = id ?? (await this.#commands.found(() => this.#stored.firstOf(partnerId, eventType)));
      if (target === undefined) return { kind: 'not-found' };
      const place = { partnerId, id: target, only: id === undefined, ...this.#originLimit() };
      const verified = await this.#verifiedVersion(target, draft);
      const command = updateCommand(place, draft, this.#seals, this.#now(), this.#fresh, verified);
      const result = await this.#commands.send(command, [...CHANGE_ENDS, 'ambiguous']);
      if (result.kind === 'ambiguous') {
        const ids = await this.#stored.idsOf(partnerId, eventType);
        if (ids.length > 1) return { kind: 'ambiguous', ids };
      } else if (result.kind !== 'stale') return result;
    }
  }

  async patch(partnerId: string, id: string, patch: PatchDraft, ifVersion?: number): Promise<ChangeResult> {
    const stored = await this.#toChange(partnerId, id);
    return stored === undefined
      ? { kind: 'not-found' }
      : this.#changeOne(stored, patchChanges(stored, patch, this.#seals, this.#fresh), ifVersion);
  }

  async delete(partnerId: string, eventType: string, id?: string): Promise<DeleteResult> {
    await this.registry.current();
    for (;;) {
      // The only webhook is looked up first, so that the command names it; the script checks that it still is.
      const target = id ?? (await this.#commands.found(() => this.#stored.firstOf(partnerId, eventType)));
      if (target === undefined) return { kind: 'not-found' };
      const command = { kind: 'delete' as const, partnerId, eventType, id: target, only: id === undefined };
      const result = await this.#commands.send(command, ['deleted', 'not-found', 'ambiguous', 'stale']);
      if (result.kind === 'ambiguous') {
        const ids = await this.#stored.idsOf(partnerId, eventType);
        if (ids.length > 1) return { kind: 'ambiguous', ids };
      } else if (result.kind !== 'stale') return result;
    }
  }

  async remove(partnerId: string, id: string, ifVersion?: number): Promise<RemoveResult> {
    const stored = await this.#toChange(partnerId, id);
    if (stored === undefined) return { kind: 'not-found' };
    const command = { kind: 'delete' as const, partnerId, eventType: stored.eventType, id, ...ifAt(ifVersion) };
    return this.#commands.send(command, ['deleted', 'not-found', 'stale']);
  }

  async disable(partnerId: string, id: string, reason: string, ifVersion?: number): Promise<ChangeResult> {
    for (;;) {
      const stored = await this.#toChange(partnerId, id);
      if (stored === undefined) return { kind: 'not-found' };
      if (stored.status === 'disabled' || stored.version !== (ifVersion ?? stored.version)) return { kind: 'stale' };
      // The version that was read: another reason that came first stays.
      const result = await this.#changeOne(stored, { status: 'disabled', disabledReason: reason }, stored.version);
      if (result.kind !== 'stale' || ifVersion !== undefined) return result;
    }
  }

  async enable(partnerId: string, id: string, ifVersion?: number): Promise<ChangeResult> {
    const stored = await this.#toChange(partnerId, id);
    return stored === undefined ? { kind: 'not-found' } : this.#changeOne(stored, ENABLED, ifVersion);
  }

  async rotateSecret(partnerId: string, id: string): Promise<string | undefined> {
    for (;;) {
      const stored = await this.#whole(partnerId, id);
      if (stored === undefined) return undefined;
      const { secret, changes } = rotation(stored, randomBytes(32), this.#seals, this.#now());
      if (changes === undefined) return secret;
      // The command holds the former secret: of two rotations at once the later one must be built on the earlier one's result.
      const result = await this.#changeOne(stored, changes, stored.version);
      if (result.kind === 'updated') return secret;
      if (result.kind === 'not-found') return undefined;
    }
  }

  async list(partnerId: string, { eventType, credential, after = 0, limit }: Listing): Promise<Page> {
    await this.registry.current();
    const lists = await Promise.all(
      (credential === undefined ? [undefined] : credentialHashes(credential, this.keyring)).map((hash) =>
        this.#stored.list({ partnerId, eventType, ...(hash === undefined ? {} : { hash }) }, after, limit),
      ),
    );
    const found = lists.flatMap(({ records }) => records).toSorted((a, b) => a.sequence - b.sequence);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasMore = found.length > limit || lists.some((each) => each.hasMore);
    return {
      read: lists.reduce((sum, each) => sum + each.read, 0),
      records: page.map((stored) => recordOf(stored)),
      ...(hasMore && last !== undefined ? { next: last.sequence } : {}),
    };
  }

  async listDetails(partnerId: string, { eventType, after = 0, limit, ids }: DetailsListing): Promise<DetailsPage> {
    await this.registry.current();
    const { records, hasMore, read } = await (ids === undefined
      ? this.#stored.list({ partnerId, eventType }, after, limit)
      : this.#stored.listOf(ids, { partnerId, eventType }, after, limit));
    const last = records.at(-1);
    const webhooks = records.map((stored) => detailsOf(stored));
    return { webhooks, read, ...(hasMore && last !== undefined ? { next: last.sequence } : {}) };
  }

  async idsOf(partnerId: string, eventType?: string): Promise<string[]> {
    await this.registry.current();
    return this.#stored.idsOf(partnerId, eventType);
  }

  async find(partnerId: string, id: string): Promise<Versioned | undefined> {
    const stored = await this.#record(partnerId, id);
    return stored && { details: detailsOf(stored), version: stored.version };
  }

  async deliverable(partnerId: string, id: string): Promise<Webhook | undefined> {
    const stored = await this.#whole(partnerId, id);
    if (stored === undefined) return undefined;
    const opened = openedOf(stored, this.keyring);
    return webhookOf(stored, () => Promise.resolve(opened));
  }

  async signingSecret(partnerId: string, id: string): Promise<string | undefined> {
    const stored = await this.#whole(partnerId, id);
    return stored && openSecret(stored, this.keyring);
  }

  async partnerWith(credential: Credential): Promise<string | undefined> {
    await this.registry.current();
    const partners = await Promise.all(
      credentialHashes(credential, this.keyring).map((hash) => this.#stored.partnersWith(hash)),
    );
    const [partner, ...others] = new Set(partners.flat());
    return others.length === 0 ? partner : undefined;
  }

  /** The version at which the draft leaves the endpoint as it is, so that the webhook needs no verification. */
  async #verifiedVersion(id: string, draft: WebhookDraft): Promise<number | undefined> {
    if (this.#fresh === ENABLED) return undefined;
    const stored = await this.#stored.record(id);
    return stored && isSameEndpoint(stored, draft, this.keyring) ? stored.version : undefined;
  }

  #toChange(partnerId: string, id: string): Promise<StoredRecord | undefined> {
    return this.#commands.found(() => this.#record(partnerId, id));
  }

  async #record(partnerId: string, id: string): Promise<StoredRecord | undefined> {
    await this.registry.current();
    const stored = await this.#stored.record(id);
    return stored?.partnerId === partnerId ? stored : undefined;
  }

  async #whole(partnerId: string, id: string): Promise<StoredWebhook | undefined> {
    await this.registry.current();
    const stored = await this.#stored.whole(id);
    return stored?.partnerId === partnerId ? stored : undefined;
  }

  // An id never changes its event type, so the command finds the webhook that was read.
  #changeOne(
    { partnerId, id, eventType }: StoredRecord | StoredWebhook,
    changes: WebhookChanges,
    ifVersion: number | undefined,
  ): Promise<ChangeResult> {
    const target = { partnerId, id, eventType, only: false, at: this.#now() };
    const command = { kind: 'update' as const, ...target, changes, ...ifAt(ifVersion), ...this.#originLimit() };
    return this.#commands.send(command, CHANGE_ENDS);
  }

  #originLimit(): { readonly originLimit?: number } {
    const { perOrigin } = this.options;
    return perOrigin === undefined ? {} : { originLimit: perOrigin };
  }
}

const CHANGE_ENDS = ['updated', 'exists', 'not-found', 'stale', 'origin-limit'] as const;
const ifAt = (ifVersion: number | undefined) => (ifVersion === undefined ? {} : { ifVersion });
