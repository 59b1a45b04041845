import { randomBytes } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { credentialOf } from './credential.js';
import { credentialHash, credentialHashes, openSecret, seal, sealCredential } from './sealing.js';
import { recordOf, type StoredRecord, type StoredWebhook } from './stored-webhook.js';
import { StoredWebhooks } from './stored-webhooks.adapter.js';
import { ENABLED, type CommandLimits, type Fresh, type WebhookCommand } from './webhook-command.js';
import { WebhookCommands } from './webhook-commands.adapter.js';
import {
  WebhookItems,
  type Change,
  type ItemResult,
  type PatchDraft,
  type RemoveResult,
  type Versioned,
} from './webhook-items.port.js';
import { openedOf, webhookOf, type Webhook } from './webhook-view.js';

/** How long the secret before signs along after a rotation. */
const OVERLAP_MS = 24 * 3_600_000;
const iv = (): Buffer => randomBytes(12);

/** Single registrations in the layout of `webhook-layout.script.ts`; changed by the same commands as all of them. */
export class RedisWebhookItems extends WebhookItems {
  readonly #stored: StoredWebhooks;
  readonly #commands: WebhookCommands;

  constructor(
    redis: Redis,
    private readonly registry: LogView<WebhookCommand>,
    private readonly keyring: Keyring,
    private readonly now: () => number,
    private readonly fresh: Fresh = ENABLED,
    private readonly limits: Pick<CommandLimits, 'perOrigin'> = {},
  ) {
    super();
    this.#stored = new StoredWebhooks(redis);
    this.#commands = new WebhookCommands(this.#stored, registry);
  }

  async find(partnerId: string, id: string): Promise<Versioned | undefined> {
    const stored = await this.#owned(partnerId, id);
    return stored && { details: detailsOf(stored), version: stored.version };
  }

  async deliverable(partnerId: string, id: string): Promise<Webhook | undefined> {
    const stored = await this.#whole(partnerId, id);
    const opened = stored && openedOf(stored, this.keyring);
    return stored && opened && webhookOf(stored, () => Promise.resolve(opened));
  }

  async patch(partnerId: string, id: string, patch: PatchDraft, ifVersion?: number): Promise<ItemResult> {
    const stored = await this.#read(partnerId, id);
    return stored === undefined
      ? { kind: 'not-found' }
      : this.#update(stored, changesOf(stored, patch, this.keyring, this.fresh), ifVersion);
  }

  async remove(partnerId: string, id: string, ifVersion?: number): Promise<RemoveResult> {
    const stored = await this.#read(partnerId, id);
    if (stored === undefined) return { kind: 'not-found' };
    const { eventType } = stored;
    const version = ifVersion === undefined ? {} : { ifVersion };
    const { kind } = await this.#commands.send({ kind: 'delete', partnerId, eventType, id, ...version });
    if (kind === 'deleted' || kind === 'not-found' || kind === 'stale') return { kind };
    throw new Error(`A delete command cannot end as ${kind}`);
  }

  async rotateSecret(partnerId: string, id: string): Promise<string | undefined> {
    for (;;) {
      const stored = await this.#whole(partnerId, id);
      if (stored === undefined) return undefined;
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      const secrets = [seal(secret, 'secret', stored, this.keyring, iv), ...this.#signsAlong(stored)];
      // What comes before is part of the command: of two rotations at once the later one must see the earlier one's.
      const result = await this.#update(stored, { secrets, oldSecretUntil: this.now() + OVERLAP_MS }, stored.version);
      if (result.kind === 'updated') return secret;
      if (result.kind === 'not-found') return undefined;
    }
  }

  async disable(partnerId: string, id: string, reason: string, ifVersion: number): Promise<ItemResult> {
    const stored = await this.#read(partnerId, id);
    if (stored === undefined) return { kind: 'not-found' };
    if (stored.version !== ifVersion || stored.status === 'disabled') return { kind: 'stale' };
    return this.#update(stored, { status: 'disabled', disabledReason: reason }, ifVersion);
  }

  async enable(partnerId: string, id: string, ifVersion?: number): Promise<ItemResult> {
    const stored = await this.#read(partnerId, id);
    return stored === undefined ? { kind: 'not-found' } : this.#update(stored, ENABLED, ifVersion);
  }

  /** The secret before, unless no key opens it: it could sign nothing, and an attempt that must open it would fail. */
  #signsAlong(stored: StoredWebhook): string[] {
    try {
      openSecret(stored, this.keyring);
      return stored.secrets.slice(0, 1);
    } catch {
      return [];
    }
  }

  /** For a change: of what is not there it is certain. */
  async #read(partnerId: string, id: string): Promise<StoredRecord | undefined> {
    const found = await this.#owned(partnerId, id);
    if (found !== undefined) return found;
    await this.registry.settled();
    return this.#owned(partnerId, id);
  }

  async #owned(partnerId: string, id: string): Promise<StoredRecord | undefined> {
    await this.registry.current();
    const stored = await this.#stored.record(id);
    return stored?.partnerId === partnerId ? stored : undefined;
  }

  async #whole(partnerId: string, id: string): Promise<StoredWebhook | undefined> {
    await this.registry.current();
    const stored = await this.#stored.whole(id);
    return stored?.partnerId === partnerId ? stored : undefined;
  }

  // An id keeps its event type for ever, so the one that was read is the one the command finds.
  async #update(
    { partnerId, id, eventType }: Pick<StoredRecord, 'partnerId' | 'id' | 'eventType'>,
    changes: Change,
    ifVersion?: number,
  ): Promise<ItemResult> {
    const { perOrigin } = this.limits;
    const result = await this.#commands.send({
      kind: 'update',
      partnerId,
      id,
      eventType,
      only: false,
      at: this.now(),
      changes,
      ...(ifVersion === undefined ? {} : { ifVersion }),
      ...(perOrigin === undefined ? {} : { originLimit: perOrigin }),
    });
    if (result.kind === 'updated' || result.kind === 'exists') return result;
    if (result.kind === 'not-found' || result.kind === 'stale' || result.kind === 'origin-limit')
      return { kind: result.kind };
    throw new Error(`An update command cannot end as ${result.kind}`);
  }
}

function changesOf(place: StoredRecord, patch: PatchDraft, keyring: Keyring, fresh: Fresh): Change {
  const { endPointUrl, url, origin, endPointDesc, endPointName } = patch;
  const credential = credentialOf(patch);
  // Other texts alone, or what it has already, make no other endpoint of one that is active.
  const isSame =
    place.status === 'active' &&
    (url === undefined || url === place.url) &&
    (credential === undefined || credentialHashes(credential, keyring).includes(place.credentialHash));
  return {
    ...(isSame ? {} : fresh),
    ...(endPointUrl === undefined || url === undefined || origin === undefined ? {} : { endPointUrl, url, origin }),
    ...(endPointDesc === undefined ? {} : { endPointDesc }),
    ...(endPointName === undefined ? {} : { endPointName }),
    ...(credential === undefined
      ? {}
      : {
          credential: sealCredential(credential, place, keyring, iv),
          credentialHash: credentialHash(credential, keyring),
        }),
  };
}

const detailsOf = (stored: StoredRecord): Versioned['details'] => ({
  ...recordOf(stored),
  status: stored.status,
  disabledReason: stored.disabledReason ?? null,
  createdAt: new Date(stored.createdAt).toISOString(),
  updatedAt: new Date(stored.updatedAt).toISOString(),
  credentialType: stored.credentialKind,
});
