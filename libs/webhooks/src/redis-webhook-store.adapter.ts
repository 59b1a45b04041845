import { randomBytes, randomUUID } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { credentialOf, type Credential } from './credential.js';
import { credentialHashes, openSecret } from './sealing.js';
import { recordOf, type StoredRecord } from './stored-webhook.js';
import { StoredWebhooks } from './stored-webhooks.adapter.js';
import {
  ENABLED,
  registerCommand,
  updateCommand,
  type CommandLimits,
  type CommandResult,
  type Fresh,
  type WebhookCommand,
  type WebhookDraft,
} from './webhook-command.js';
import { WebhookCommands } from './webhook-commands.adapter.js';
import {
  WebhookStore,
  type DeleteResult,
  type Listing,
  type Page,
  type RegisterResult,
  type UpdateResult,
} from './webhook-store.port.js';

const iv = (): Buffer => randomBytes(12);

/** Registrations in Redis, in the layout of `webhook-layout.script.ts`; changed by commands of the registry. */
export class RedisWebhookStore extends WebhookStore {
  readonly #stored: StoredWebhooks;
  readonly #commands: WebhookCommands;

  constructor(
    redis: Redis,
    private readonly registry: LogView<WebhookCommand>,
    private readonly keyring: Keyring,
    private readonly limits: CommandLimits,
    private readonly fresh: Fresh = ENABLED,
  ) {
    super();
    this.#stored = new StoredWebhooks(redis);
    this.#commands = new WebhookCommands(this.#stored, registry);
  }

  async register(partnerId: string, draft: WebhookDraft): Promise<RegisterResult> {
    const chance = { id: randomUUID(), signingKey: randomBytes(32), now: Date.now(), iv };
    return this.#send(registerCommand(partnerId, draft, this.limits, this.keyring, chance, this.fresh), [
      'created',
      'exists',
      'limit',
      'origin-limit',
    ]);
  }

  async update(partnerId: string, draft: WebhookDraft, id?: string): Promise<UpdateResult> {
    await this.registry.current();
    for (;;) {
      // A credential is sealed for one id, so the only webhook is looked up before; the script sees that it still is.
      const target = id ?? (await this.#anyOf(partnerId, draft.eventType));
      if (target === undefined) return { kind: 'not-found' };
      const command = await this.#updateOf(partnerId, target, draft, id === undefined);
      const kinds = ['updated', 'not-found', 'ambiguous', 'exists', 'stale', 'origin-limit'] as const;
      const result = await this.#send(command, kinds);
      if (result.kind === 'ambiguous') {
        const ids = await this.#stored.idsOf(partnerId, draft.eventType);
        if (ids.length > 1) return { kind: 'ambiguous', ids };
      } else if (result.kind !== 'stale') return result;
    }
  }

  async #updateOf(partnerId: string, id: string, draft: WebhookDraft, only: boolean): Promise<WebhookCommand> {
    const { perOrigin } = this.limits;
    const place = { partnerId, id, only, ...(perOrigin === undefined ? {} : { originLimit: perOrigin }) };
    const verified = this.fresh === ENABLED ? undefined : await this.#verified(id, draft);
    return updateCommand(place, draft, this.keyring, { now: Date.now(), iv }, this.fresh, verified);
  }

  /** The version at which a webhook is active with this very URL and credential, so that it need not be verified anew. */
  async #verified(id: string, draft: WebhookDraft): Promise<number | undefined> {
    const stored = await this.#stored.record(id);
    const credential = credentialOf(draft);
    const isSame =
      stored?.status === 'active' &&
      stored.url === draft.url &&
      credential !== undefined &&
      credentialHashes(credential, this.keyring).includes(stored.credentialHash);
    return isSame ? stored.version : undefined;
  }

  async delete(partnerId: string, eventType: string, id?: string): Promise<DeleteResult> {
    for (;;) {
      const command = { kind: 'delete' as const, partnerId, eventType, ...(id === undefined ? {} : { id }) };
      const result = await this.#send(command, ['deleted', 'not-found', 'ambiguous']);
      if (result.kind !== 'ambiguous') return result;
      const ids = await this.#stored.idsOf(partnerId, eventType);
      if (ids.length > 1) return { kind: 'ambiguous', ids };
    }
  }

  async list(partnerId: string, { eventType, credential, after = 0, limit }: Listing): Promise<Page> {
    await this.registry.current();
    const lists = await Promise.all(
      (credential === undefined ? [undefined] : credentialHashes(credential, this.keyring)).map((hash) =>
        this.#stored.list({ partnerId, eventType, ...(hash === undefined ? {} : { hash }) }, after, limit),
      ),
    );
    const found = lists.flatMap(({ records }) => records).toSorted(bySequence);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const read = lists.reduce((sum, each) => sum + each.read, 0);
    const hasMore = found.length > limit || lists.some((each) => each.hasMore);
    return {
      read,
      records: page.map((stored) => recordOf(stored)),
      ...(hasMore && last !== undefined ? { next: last.sequence } : {}),
    };
  }

  async idsOf(partnerId: string): Promise<string[]> {
    await this.registry.current();
    return this.#stored.idsOf(partnerId);
  }

  async partnerWith(credential: Credential): Promise<string | undefined> {
    await this.registry.current();
    const owners = await Promise.all(
      credentialHashes(credential, this.keyring).map((hash) => this.#stored.partnersWith(hash)),
    );
    const [partner, ...others] = new Set(owners.flat());
    return others.length === 0 ? partner : undefined;
  }

  async signingSecret(partnerId: string, id: string): Promise<string | undefined> {
    await this.registry.current();
    const stored = await this.#stored.whole(id);
    return stored?.partnerId === partnerId ? openSecret(stored, this.keyring) : undefined;
  }

  async #anyOf(partnerId: string, eventType: string): Promise<string | undefined> {
    const first = await this.#stored.firstOf(partnerId, eventType);
    if (first !== undefined) return first;
    await this.registry.settled();
    return this.#stored.firstOf(partnerId, eventType);
  }

  async #send<Kind extends CommandResult['kind']>(
    command: WebhookCommand,
    kinds: readonly Kind[],
  ): Promise<Extract<CommandResult, { kind: Kind }>> {
    const result = await this.#commands.send(command);
    if (isOneOf(result, kinds)) return result;
    throw new Error(`A ${command.kind} command cannot end as ${result.kind}`);
  }
}

const bySequence = (a: StoredRecord, b: StoredRecord): number => a.sequence - b.sequence;

function isOneOf<Kind extends CommandResult['kind']>(
  result: CommandResult,
  kinds: readonly Kind[],
): result is Extract<CommandResult, { kind: Kind }> {
  return kinds.some((kind) => kind === result.kind);
}
