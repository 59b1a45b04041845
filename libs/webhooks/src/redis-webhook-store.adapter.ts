import { randomBytes, randomUUID } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import { defineScript, runScript, type LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { credentialOf, type Credential } from './credential.js';
import { credentialHashes, openSecret } from './sealing.js';
import { readStored, recordOf } from './stored-webhook.js';
import {
  CommandResult,
  ENABLED,
  type Fresh,
  registerCommand,
  updateCommand,
  type WebhookCommand,
  type WebhookDraft,
} from './webhook-command.js';
import { webhookKeys } from './webhook-command.script.js';
import { listLua } from './webhook-read.script.js';
import {
  WebhookStore,
  type DeleteResult,
  type Listing,
  type Page,
  type RegisterResult,
  type UpdateResult,
} from './webhook-store.port.js';

const list = defineScript('webhook-list', listLua);

const Strings = z.array(z.string());
const [WEBHOOKS] = webhookKeys;
const iv = (): Buffer => randomBytes(12);

/** Registrations in Redis, in the layout of `webhook-command.script.ts`; changed by commands of the registry. */
export class RedisWebhookStore extends WebhookStore {
  constructor(
    private readonly redis: Redis,
    private readonly registry: LogView<WebhookCommand>,
    private readonly keyring: Keyring,
    private readonly maxPerPartner: number,
    private readonly fresh: Fresh = ENABLED,
  ) {
    super();
  }

  async register(partnerId: string, draft: WebhookDraft): Promise<RegisterResult> {
    const chance = { id: randomUUID(), signingKey: randomBytes(32), now: Date.now(), iv };
    return this.#apply(registerCommand(partnerId, draft, this.maxPerPartner, this.keyring, chance, this.fresh), [
      'created',
      'exists',
      'limit',
    ]);
  }

  async update(partnerId: string, draft: WebhookDraft, id?: string): Promise<UpdateResult> {
    const kinds = ['updated', 'not-found', 'ambiguous', 'exists', 'stale'] as const;
    await this.registry.current();
    for (;;) {
      // A credential is sealed for one id, so the only webhook is looked up before; the script sees that it still is.
      const target = id ?? (await this.#anyOf(partnerId, draft.eventType));
      if (target === undefined) return { kind: 'not-found' };
      const chance = { now: Date.now(), iv };
      const place = { partnerId, id: target, only: id === undefined };
      const verified = this.fresh === ENABLED ? undefined : await this.#verified(target, draft);
      const command = updateCommand(place, draft, this.keyring, chance, this.fresh, verified);
      const result = await this.#apply(command, kinds);
      if (result.kind !== 'stale') return result;
    }
  }

  /** The version at which a webhook is active with this very URL and credential, so that it need not be verified anew. */
  async #verified(id: string, draft: WebhookDraft): Promise<number | undefined> {
    const json = await this.redis.hget(WEBHOOKS, id);
    const stored = json === null ? undefined : readStored(json);
    const credential = credentialOf(draft);
    const isSame =
      stored?.status === 'active' &&
      stored.url === draft.url &&
      credential !== undefined &&
      credentialHashes(credential, this.keyring).includes(stored.credentialHash);
    return isSame ? stored.version : undefined;
  }

  async delete(partnerId: string, eventType: string, id?: string): Promise<DeleteResult> {
    return this.#apply({ kind: 'delete', partnerId, eventType, ...(id === undefined ? {} : { id }) }, [
      'deleted',
      'not-found',
      'ambiguous',
    ]);
  }

  async list(partnerId: string, { eventType, credential, after, limit }: Listing): Promise<Page> {
    await this.registry.current();
    const hashes = credential === undefined ? undefined : credentialHashes(credential, this.keyring);
    // A filter needs all of the partner's records; otherwise one more than asked for tells whether more follow.
    const count = hashes === undefined ? limit + 1 : -1;
    const args = [partnerId, eventType ?? '', after ?? 0, count];
    const json = Strings.parse(await runScript(this.redis, list, webhookKeys, args));
    const found = json
      .map(readStored)
      .filter(({ credentialHash }) => hashes === undefined || hashes.includes(credentialHash));
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      records: page.map(recordOf),
      ...(found.length > limit && last !== undefined ? { next: last.sequence } : {}),
    };
  }

  async partnerWith(credential: Credential): Promise<string | undefined> {
    await this.registry.current();
    const owners = await Promise.all(
      credentialHashes(credential, this.keyring).map((hash) => this.redis.hkeys(`${WEBHOOKS}:credential:${hash}`)),
    );
    const [partner, ...others] = new Set(owners.flat());
    return others.length === 0 ? partner : undefined;
  }

  async signingSecret(partnerId: string, id: string): Promise<string | undefined> {
    await this.registry.current();
    const json = await this.redis.hget(WEBHOOKS, id);
    if (json === null) return undefined;
    const stored = readStored(json);
    return stored.partnerId === partnerId ? openSecret(stored, this.keyring) : undefined;
  }

  async #anyOf(partnerId: string, eventType: string): Promise<string | undefined> {
    const [first] = await this.redis.zrange(`${WEBHOOKS}:partner:${partnerId}:${eventType}`, '0', '0');
    return first;
  }

  async #apply<Kind extends CommandResult['kind']>(
    change: WebhookCommand,
    kinds: readonly Kind[],
  ): Promise<Extract<CommandResult, { kind: Kind }>> {
    const result = CommandResult.parse(await this.registry.change(change));
    if (isOneOf(result, kinds)) return result;
    throw new Error(`A ${change.kind} command cannot end as ${result.kind}`);
  }
}

function isOneOf<Kind extends CommandResult['kind']>(
  result: CommandResult,
  kinds: readonly Kind[],
): result is Extract<CommandResult, { kind: Kind }> {
  return kinds.some((kind) => kind === result.kind);
}
