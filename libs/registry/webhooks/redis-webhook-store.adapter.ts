import { randomBytes, randomUUID } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { Credential } from './credential.js';
import {
  type CommandResult,
  detailsOf,
  ENABLED,
  type Fresh,
  recordOf,
  type StoredRecord,
  type StoredWebhook,
  StoredWebhooks,
  type WebhookChanges,
  type WebhookCommand,
  WebhookCommands,
} from './stored-webhooks.adapter.js';
import type { WebhookDetails, WebhookRecord } from './webhook.js';
import {
  credentialHashes,
  disabling,
  enabling,
  openSecret,
  patchChanges,
  type PatchDraft,
  registerCommand,
  rotation,
  type Seal,
  stateChanges,
  updateCommand,
  type WebhookDraft,
  type WebhookLimits,
} from './webhook-changes.js';
import { openedOf, type Webhook, webhookOf } from './redis-webhook-view.adapter.js';

type Result<Kind extends CommandResult['kind']> = Extract<CommandResult, { kind: Kind }>;
type RegisterResult = Result<'created' | 'exists' | 'limit' | 'origin-limit'>;
/** `stale` means that the webhook has changed since each of the versions in the caller's `If-Match`. */
type UpdateResult = Result<'updated' | 'not-found' | 'exists' | 'origin-limit' | 'stale'> | Ambiguous;
type DeleteResult = Result<'deleted' | 'not-found' | 'stale'> | Ambiguous;
export type ChangeResult = Result<'updated' | 'not-found' | 'exists' | 'origin-limit' | 'stale'>;
type RemoveResult = Result<'deleted' | 'not-found' | 'stale'>;
/** A change is made only if the webhook has one of these versions. Without such a list it is made at any version. */
export type Versions = readonly number[];
type RotateResult = { readonly kind: 'rotated'; readonly secret: string } | Result<'not-found' | 'stale'>;
interface Ambiguous {
  readonly kind: 'ambiguous';
  /** The ids of all webhooks that the partner has for the event type. */
  readonly ids: readonly string[];
}

export interface Listing {
  readonly eventType?: string | undefined;
  readonly credential?: Credential | undefined;
  /** `next` of the previous page. */
  readonly after?: number | undefined;
  readonly limit: number;
}

interface DetailsListing extends Omit<Listing, 'credential'> {
  /** Only these webhooks are listed. There may be at most as many ids as a page may have webhooks. */
  readonly ids?: readonly string[] | undefined;
}

/** A page of a listing. `next` is set if more webhooks follow. */
export interface Page {
  readonly records: readonly WebhookRecord[];
  readonly next?: number;
  /** Number of records that were read from Redis for this page. */
  readonly read: number;
}

/** A webhook with its state, without the number of its waiting deliveries. */
export type RegisteredWebhook = Omit<WebhookDetails, 'waiting'>;

interface DetailsPage extends Pick<Page, 'next' | 'read'> {
  readonly webhooks: readonly RegisteredWebhook[];
}

interface Versioned {
  readonly details: RegisteredWebhook;
  readonly version: number;
}

interface WebhookStoreOptions extends WebhookLimits {
  /** State of a new webhook, and of a webhook whose endpoint changes; active by default. */
  readonly fresh?: Fresh;
  readonly now?: () => number;
}

/**
 * The registrations of all partners in Redis, in the layout of `webhook.script.ts`. Commands of the registry change them. A
 * partner sees only its own webhooks. Changes of one webhook are applied completely and one after the other. With
 * `ifVersions`, a change is made only while the webhook has one of these versions. After the promise of a change has
 * resolved, every later call sees the change. If Redis or the log cannot be reached, the promise rejects, and the change may
 * have been applied or not.
 */
export class WebhookStore {
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

  /** Replaces all attributes of a webhook. Without `id`, this is the partner's only webhook of that event type. */
  async update(partnerId: string, draft: WebhookDraft, id?: string, ifVersions?: Versions): Promise<UpdateResult> {
    const { eventType } = draft;
    await this.registry.current();
    for (;;) {
      // The credential is encrypted for the id of its webhook. If the caller gives no id, the partner's webhook of this
      // event type is therefore looked up first. The script then checks that the partner has no other webhook of this type.
      const target = id ?? (await this.#commands.found(() => this.#stored.firstOf(partnerId, eventType)));
      const stored = target === undefined ? undefined : await this.#toChange(partnerId, target);
      if (stored === undefined) return { kind: 'not-found' };
      const ifVersion = versionOf(stored, ifVersions);
      const place = { partnerId, id: stored.id, only: id === undefined, ifVersion, ...this.#originLimit() };
      const state = stateChanges(stored, draft, this.keyring, this.#fresh);
      const command = updateCommand(place, draft, this.#seals, this.#now(), state);
      const result = await this.#commands.send(command, [...CHANGE_ENDS, 'ambiguous']);
      if (result.kind === 'ambiguous') {
        const ids = await this.#stored.idsOf(partnerId, eventType);
        if (ids.length > 1) return { kind: 'ambiguous', ids };
      } else if (result.kind !== 'stale' || ifVersion === NONE) return result;
    }
  }

  /** Changes the members that the patch names. A new URL or credential may also change the state, as `stateChanges` says. */
  patch(partnerId: string, id: string, patch: PatchDraft, ifVersions?: Versions): Promise<ChangeResult> {
    const changesOf = (stored: StoredRecord) => patchChanges(stored, patch, this.#seals, this.#fresh);
    return this.#change(partnerId, id, changesOf, ifVersions);
  }

  /** Deletes a webhook of the event type. Without `id`, this is the partner's only webhook of that event type. */
  async delete(partnerId: string, eventType: string, id?: string, ifVersions?: Versions): Promise<DeleteResult> {
    await this.registry.current();
    for (;;) {
      // The only webhook is looked up first, because the command needs its id. The script checks that it is still the only
      // one.
      const target = id ?? (await this.#commands.found(() => this.#stored.firstOf(partnerId, eventType)));
      const stored = target === undefined ? undefined : await this.#toChange(partnerId, target);
      if (stored === undefined) return { kind: 'not-found' };
      const ifVersion = ifVersions && versionOf(stored, ifVersions);
      const place = { partnerId, eventType, id: stored.id, only: id === undefined, ...ifAt(ifVersion) };
      const result = await this.#commands.send({ kind: 'delete', ...place }, [...DELETE_ENDS, 'ambiguous']);
      if (result.kind === 'ambiguous') {
        const ids = await this.#stored.idsOf(partnerId, eventType);
        if (ids.length > 1) return { kind: 'ambiguous', ids };
      } else if (result.kind !== 'stale' || ifVersion === NONE) return result;
    }
  }

  async remove(partnerId: string, id: string, ifVersions?: Versions): Promise<RemoveResult> {
    const stored = await this.#toChange(partnerId, id);
    if (stored === undefined) return { kind: 'not-found' };
    const ifVersion = ifVersions && versionOf(stored, ifVersions);
    const command = { kind: 'delete' as const, partnerId, eventType: stored.eventType, id, ...ifAt(ifVersion) };
    return this.#commands.send(command, DELETE_ENDS);
  }

  /**
   * Disables a webhook; its deliveries wait until it is enabled. If it is disabled already, nothing changes and the result
   * is `stale`. There is one exception: `operator` replaces any other reason.
   */
  disable(partnerId: string, id: string, reason: string, ifVersions?: Versions): Promise<ChangeResult> {
    return this.#change(partnerId, id, (stored) => disabling(stored, reason), ifVersions);
  }

  /** Makes a webhook active. If its endpoint must be verified first, the webhook becomes `unverified` instead. */
  enable(partnerId: string, id: string, ifVersions?: Versions): Promise<ChangeResult> {
    return this.#change(partnerId, id, enabling, ifVersions);
  }

  /**
   * Replaces the signing secret and returns the new one. Within 60 s after a rotation nothing changes, and the present
   * secret is returned. A former secret signs for another 24 h.
   */
  async rotateSecret(partnerId: string, id: string, ifVersions?: Versions): Promise<RotateResult> {
    for (;;) {
      const stored = await this.#whole(partnerId, id);
      if (stored === undefined) return { kind: 'not-found' };
      if (versionOf(stored, ifVersions) === NONE) return { kind: 'stale' };
      const { secret, changes } = rotation(stored, randomBytes(32), this.#seals, this.#now());
      if (changes === undefined) return { kind: 'rotated', secret };
      // The command contains the former secret. So of two concurrent rotations, the second must start from the result of the
      // first.
      const { kind } = await this.#changeOne(stored, changes, stored.version);
      if (kind === 'updated') return { kind: 'rotated', secret };
      if (kind === 'not-found') return { kind };
    }
  }

  /** Lists webhooks, oldest first. */
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

  /** Like `list`, with the state of each webhook. With `ids`, it lists only webhooks with these ids. */
  async listDetails(partnerId: string, { eventType, after = 0, limit, ids }: DetailsListing): Promise<DetailsPage> {
    await this.registry.current();
    const { records, hasMore, read } = await (ids === undefined
      ? this.#stored.list({ partnerId, eventType }, after, limit)
      : this.#stored.listOf(ids, { partnerId, eventType }, after, limit));
    const last = records.at(-1);
    const webhooks = records.map((stored) => detailsOf(stored));
    return { webhooks, read, ...(hasMore && last !== undefined ? { next: last.sequence } : {}) };
  }

  /** Returns the ids of all webhooks of the partner, or of its webhooks of one event type, oldest first. */
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
    return webhookOf(stored, async () => openedOf(stored, this.keyring, this.#now()));
  }

  async signingSecret(partnerId: string, id: string): Promise<string | undefined> {
    const stored = await this.#whole(partnerId, id);
    return stored && openSecret(stored, this.keyring);
  }

  /** Returns the partner whose webhooks have this credential; undefined if no partner or several partners have it. */
  async partnerWith(credential: Credential): Promise<string | undefined> {
    await this.registry.current();
    const partners = await Promise.all(
      credentialHashes(credential, this.keyring).map((hash) => this.#stored.partnersWith(hash)),
    );
    const [partner, ...others] = new Set(partners.flat());
    return others.length === 0 ? partner : undefined;
  }

  /**
   * Builds the changes for the version of the webhook that was read, and applies them to this version. If another change
   * came first, both steps are repeated. The result is `stale` if there is nothing to change or the version is none of
   * `ifVersions`.
   */
  async #change(
    partnerId: string,
    id: string,
    changesOf: (stored: StoredRecord) => WebhookChanges | undefined,
    ifVersions: Versions | undefined,
  ): Promise<ChangeResult> {
    for (;;) {
      const stored = await this.#toChange(partnerId, id);
      if (stored === undefined) return { kind: 'not-found' };
      const changes = versionOf(stored, ifVersions) === NONE ? undefined : changesOf(stored);
      if (changes === undefined) return { kind: 'stale' };
      const result = await this.#changeOne(stored, changes, stored.version);
      if (result.kind !== 'stale') return result;
    }
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

  // The event type of a webhook never changes, so the command finds the webhook that was read.
  #changeOne(
    { partnerId, id, eventType }: StoredRecord | StoredWebhook,
    changes: WebhookChanges,
    ifVersion: number,
  ): Promise<ChangeResult> {
    const target = { partnerId, id, eventType, only: false, ifVersion, at: this.#now() };
    const command = { kind: 'update' as const, ...target, changes, ...this.#originLimit() };
    return this.#commands.send(command, CHANGE_ENDS);
  }

  #originLimit(): { readonly originLimit?: number } {
    const { perOrigin } = this.options;
    return perOrigin === undefined ? {} : { originLimit: perOrigin };
  }
}

const CHANGE_ENDS = ['updated', 'exists', 'not-found', 'stale', 'origin-limit'] as const;
const DELETE_ENDS = ['deleted', 'not-found', 'stale'] as const;

/** No webhook has this version. */
const NONE = -1;
/**
 * Returns the version at which a change is to be made; `NONE` if the webhook has none of the versions that the caller named.
 */
const versionOf = ({ version }: Pick<StoredRecord, 'version'>, named: Versions | undefined): number =>
  named === undefined || named.includes(version) ? version : NONE;
const ifAt = (ifVersion: number | undefined) => (ifVersion === undefined ? {} : { ifVersion });

type Store = Pick<WebhookStore, 'find' | 'disable' | 'enable'>;
type Named = { readonly id: string; readonly partnerId: string };

/** `unchanged`: the webhook was in the requested state already. */
export type ToldChange = 'changed' | 'unchanged' | 'missing';

/**
 * Calls `tell`, then disables a webhook for an operator, even if it is already disabled for another reason. From then on
 * only operators can enable it.
 */
export const disableTold = (store: Store, webhook: Named, tell: () => Promise<void>): Promise<ToldChange> =>
  change(
    store,
    webhook,
    ({ disabledReason }) => disabledReason === 'operator',
    tell,
    (version) => store.disable(webhook.partnerId, webhook.id, 'operator', [version]),
  );

/**
 * Calls `tell` with the reason for which a webhook is disabled, then enables the webhook. With the result `unverified` or
 * `partner` it changes nothing: only a test of its endpoint, or only the partner who disabled it, can enable it.
 */
export async function enableTold(
  store: Store,
  webhook: Named,
  tell: (disabledReason: string) => Promise<void>,
): Promise<ToldChange | 'unverified' | 'partner'> {
  const found = await store.find(webhook.partnerId, webhook.id);
  const reason = found?.details.disabledReason ?? '';
  if (reason === 'unverified' || reason === 'partner') return reason;
  return change(
    store,
    webhook,
    ({ status }) => status === 'active',
    () => tell(reason),
    (version) => store.enable(webhook.partnerId, webhook.id, [version]),
  );
}

/** Makes a change at the version that was read. If a concurrent change came first, the webhook is read again. */
async function change(
  store: Store,
  { id, partnerId }: Named,
  isDone: (details: RegisteredWebhook) => boolean,
  tell: () => Promise<void>,
  make: (version: number) => Promise<{ readonly kind: string }>,
): Promise<ToldChange> {
  for (let isTold = false; ; isTold = true) {
    const found = await store.find(partnerId, id);
    if (found === undefined) return 'missing';
    if (isDone(found.details)) return 'unchanged';
    if (!isTold) await tell();
    if ((await make(found.version)).kind === 'updated') return 'changed';
  }
}
