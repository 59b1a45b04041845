import type { EnvelopeType } from '@relay/events';
import { defineScript, type LogView, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { optionalMembers, shownAttributes, type WebhookDetails, type WebhookRecord } from './webhook.js';
import { idsLua, listLua, refusalLua, SLICE, webhookKeys, wholeLua } from './webhook.script.js';

/** A credential at rest: its kind in clear text, each field sealed by the keyring for this webhook and field. */
export const SealedCredential = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('apiKey'), apiKey: z.string() }),
  z.object({ kind: z.literal('jwt'), jwt: z.string() }),
  z.object({ kind: z.literal('basic'), userName: z.string(), password: z.string() }),
]);
export type SealedCredential = z.infer<typeof SealedCredential>;

/** A webhook in the hash `webhooks`. `url` is the normalised address that is used, `endPointUrl` what the partner wrote. */
export const StoredRecord = z.object({
  id: z.string(),
  partnerId: z.string(),
  /** May be unknown to this release: while a newer one is rolled out, its ingresses register webhooks for new types. */
  eventType: z.custom<EnvelopeType>((value) => typeof value === 'string'),
  endPointUrl: z.string(),
  url: z.string(),
  origin: z.string(),
  ...optionalMembers('stored'),
  credentialKind: z.enum(['apiKey', 'jwt', 'basic']),
  /** Keyed hash of the credential, which a listing by credential looks up. */
  credentialHash: z.string(),
  status: z.enum(['active', 'disabled']),
  disabledReason: z.string().optional(),
  /** Its endpoint changed while a person had stopped it, and has not been verified. */
  isUntested: z.boolean().optional(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
  updatedAt: z.number(),
  /** Registry version of the registration (its place in listings) and of the last change. */
  sequence: z.number(),
  version: z.number(),
});
export type StoredRecord = z.infer<typeof StoredRecord>;

/** The sealed values of a webhook in the hash `webhooks:sealed`. */
const SealedParts = z.object({
  credential: SealedCredential,
  /** Signing secrets, sealed; the first is the one in force. */
  secrets: z.array(z.string()).min(1),
  /** Epoch milliseconds until which the second secret also signs; set by a rotation. */
  oldSecretUntil: z.number().optional(),
  /** End of the third secret, which signs if the secret was rotated twice within its time. */
  olderSecretUntil: z.number().optional(),
});

/** The whole webhook, as a command carries it. */
export const StoredWebhook = StoredRecord.omit({ credentialKind: true }).extend(SealedParts.shape);
export type StoredWebhook = z.infer<typeof StoredWebhook>;

export const readRecord = (json: string): StoredRecord => StoredRecord.parse(JSON.parse(json));

/** A webhook from its record and its sealed values, as one script read them. */
export const readStored = (record: string, sealed: string): StoredWebhook =>
  StoredWebhook.parse({ ...readRecord(record), ...SealedParts.parse(JSON.parse(sealed)) });

export const recordOf = ({ id, eventType, endPointUrl, ...stored }: StoredRecord): WebhookRecord => ({
  id,
  eventType,
  endPointUrl,
  endPointDesc: stored.endPointDesc ?? null,
  endPointName: stored.endPointName ?? null,
});

export const detailsOf = (stored: StoredRecord): Omit<WebhookDetails, 'waiting'> => ({
  id: stored.id,
  eventType: stored.eventType,
  endPointUrl: stored.endPointUrl,
  ...shownAttributes(stored),
  status: stored.status,
  disabledReason: stored.disabledReason ?? null,
  createdAt: new Date(stored.createdAt).toISOString(),
  updatedAt: new Date(stored.updatedAt).toISOString(),
  credentialType: stored.credentialKind,
});

type Fixed = 'id' | 'partnerId' | 'eventType' | 'createdAt' | 'updatedAt' | 'sequence' | 'version';
/** The members that an update writes; null removes one. */
export type WebhookChanges = {
  [Name in Exclude<keyof StoredWebhook, Fixed>]?:
    | Exclude<StoredWebhook[Name], undefined>
    | (undefined extends StoredWebhook[Name] ? null : never);
};

/**
 * A change of the registrations, complete in itself: it holds ids, times and sealed values, so that applying it is
 * deterministic and needs no key. `webhook.script.ts` applies it.
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
      /** Commands of earlier releases name none if the webhook was the partner's only one of its event type. */
      readonly id?: string;
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
/** Set if endpoints are verified: deliveries wait until the endpoint answers a test delivery with 2xx. */
export const UNVERIFIED = { status: 'disabled', disabledReason: 'unverified' } as const;

export type Fresh = typeof ENABLED | typeof UNVERIFIED;

const list = defineScript('webhook-list', listLua);
const ids = defineScript('webhook-ids', idsLua);
const whole = defineScript('webhook-whole', wholeLua);
const refusalScript = defineScript('webhook-refusal', refusalLua);

const Records = z.tuple([z.array(z.string().nullable()), z.number()]);
const Ids = z.tuple([z.array(z.string()), z.string()]);

const [WEBHOOKS] = webhookKeys;

/** Reads of the registrations in Redis, slice by slice, in the layout of `webhook.script.ts`. */
export class StoredWebhooks {
  constructor(private readonly redis: Redis) {}

  count(): Promise<number> {
    return this.redis.hlen(WEBHOOKS);
  }

  async record(id: string): Promise<StoredRecord | undefined> {
    const json = await this.redis.hget(WEBHOOKS, id);
    return json === null ? undefined : readRecord(json);
  }

  /** The webhook with its sealed values, of one moment. */
  async whole(id: string): Promise<StoredWebhook | undefined> {
    const json = await this.wholeJson(id);
    return json === undefined ? undefined : readStored(...json);
  }

  async wholeJson(id: string): Promise<WholeJson['json'] | undefined> {
    return (await this.#wholeSlice([id])).found[0]?.json;
  }

  /** Records of one partner, oldest first; with `eventType` or `hash` only those of that event type or credential. */
  async list(
    { partnerId, eventType, hash }: { partnerId: string; eventType?: string | undefined; hash?: string },
    after: number,
    limit: number,
  ): Promise<{ readonly records: readonly StoredRecord[]; readonly hasMore: boolean; readonly read: number }> {
    const key = hash === undefined ? ownedKey(partnerId, eventType) : `:credential:${hash}:${partnerId}`;
    const wants = ({ eventType: its }: StoredRecord): boolean => eventType === undefined || its === eventType;
    const records: StoredRecord[] = [];
    let read = 0;
    for (let from = after; ;) {
      const most = Math.min(limit - records.length, SLICE.records);
      const reply = await runScript(this.redis, list, webhookKeys, [key, from, most]);
      const [json, more] = Records.parse(reply);
      const slice = json.flatMap((each) => (each === null ? [] : [readRecord(each)]));
      read += slice.length;
      records.push(...slice.filter(wants));
      const last = slice.at(-1);
      if (more === 0 || last === undefined) return { records, hasMore: false, read };
      if (records.length >= limit) return { records, hasMore: true, read };
      from = last.sequence;
    }
  }

  /** Limits the read to these webhooks, at most as many as one script reads. */
  async listOf(
    asked: readonly string[],
    { partnerId, eventType }: { readonly partnerId: string; readonly eventType?: string | undefined },
    after: number,
    limit: number,
  ): Promise<{ readonly records: readonly StoredRecord[]; readonly hasMore: boolean; readonly read: number }> {
    const found = await this.redis.hmget(WEBHOOKS, ...asked);
    const records = found.flatMap((json) => (json === null ? [] : [readRecord(json)]));
    const ofType = records.filter((each) => eventType === undefined || each.eventType === eventType);
    const wanted = ofType
      .filter((each) => each.partnerId === partnerId && each.sequence > after)
      .toSorted((a, b) => a.sequence - b.sequence);
    return { records: wanted.slice(0, limit), hasMore: wanted.length > limit, read: records.length };
  }

  /** The ids of a partner's webhooks, or of those of one event type, oldest first. */
  async idsOf(partnerId: string, eventType?: string): Promise<string[]> {
    const found: string[] = [];
    for await (const slice of this.#ids(ownedKey(partnerId, eventType))) found.push(...slice);
    return found;
  }

  async firstOf(partnerId: string, eventType: string): Promise<string | undefined> {
    const [first] = await this.redis.zrange(`${WEBHOOKS}${ownedKey(partnerId, eventType)}`, '0', '0');
    return first;
  }

  partnersWith(hash: string): Promise<string[]> {
    return this.redis.hkeys(`${WEBHOOKS}:credential:${hash}`);
  }

  /** The ids of all webhooks that exist during the whole read, in slices, each once. */
  async *ids(): AsyncGenerator<readonly string[]> {
    const seen = new Set<string>();
    // A webhook that changes meanwhile moves to the end, so that none is missed.
    for await (const slice of this.#ids(':changes')) {
      const fresh = slice.filter((id) => !seen.has(id));
      for (const id of fresh) seen.add(id);
      yield fresh;
    }
  }

  /** Every webhook that exists during the whole read, in slices, each once; as JSON, since one may be unreadable. */
  async *all(): AsyncGenerator<readonly WholeJson[]> {
    for await (const slice of this.ids())
      for (let left = slice; left.length > 0;) {
        const asked = left.slice(0, SLICE.records);
        const { found, count } = await this.#wholeSlice(asked);
        yield found;
        left = left.slice(count);
      }
  }

  /** The result that refuses a command in the present state; undefined when nothing does. */
  async refusalOf(command: WebhookCommand): Promise<CommandResult | undefined> {
    const json = z
      .string()
      .parse(await runScript(this.redis, refusalScript, webhookKeys, [JSON.stringify(command, withoutSealed)]));
    return json === '' ? undefined : CommandResult.parse(JSON.parse(json));
  }

  async #wholeSlice(asked: readonly string[]): Promise<{ found: readonly WholeJson[]; count: number }> {
    const [json, count] = Records.parse(await runScript(this.redis, whole, webhookKeys, [...asked]));
    const found = asked.slice(0, count).flatMap((id, n) => {
      const [record, sealed] = [json[2 * n], json[2 * n + 1]];
      return typeof record !== 'string' ? [] : [{ id, json: [record, sealed ?? 'null'] as const }];
    });
    return { found, count };
  }

  async *#ids(key: string): AsyncGenerator<readonly string[]> {
    for (let after = '0'; ;) {
      const [slice, last] = Ids.parse(await runScript(this.redis, ids, webhookKeys, [key, after]));
      if (slice.length > 0) yield slice;
      if (last === '') return;
      after = last;
    }
  }
}

/** Record and sealed values of a webhook, for `readStored`. */
export interface WholeJson {
  readonly id: string;
  readonly json: readonly [record: string, sealed: string];
}

const ownedKey = (partnerId: string, eventType?: string): string =>
  `:partner:${partnerId}${eventType === undefined ? '' : `:${eventType}`}`;

/** Sealed values have no part in a refusal. */
const SEALED = new Set(['credential', 'secrets']);
const withoutSealed = (name: string, value: unknown): unknown => (SEALED.has(name) ? undefined : value);

/**
 * Sends commands to the registry, whose log keeps them for ever. A command that a read shows to be refused, or to change
 * nothing, is not sent. The script that applies commands still decides between commands that run at the same time.
 */
export class WebhookCommands {
  constructor(
    private readonly stored: StoredWebhooks,
    private readonly registry: LogView<WebhookCommand>,
  ) {}

  /** @throws Error when the command ends as none of these kinds */
  async send<Kind extends CommandResult['kind']>(
    command: WebhookCommand,
    kinds: readonly Kind[],
  ): Promise<Extract<CommandResult, { kind: Kind }>> {
    await this.registry.current();
    const known = await this.#confirmed(() => this.#known(command));
    const result = known ?? CommandResult.parse(await this.registry.change(command));
    if (isOneOf(result, kinds)) return result;
    throw new Error(`A ${command.kind} command cannot end as ${result.kind}`);
  }

  /** Reads before a change. A registration may stand in the log and not in Redis yet: it is absent only once both agree. */
  async found<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    const found = await read();
    if (found !== undefined) return found;
    await this.registry.settled();
    return read();
  }

  /** Reads a refusal twice, because a change whose answer was lost may be in the log and not in Redis yet. */
  async #confirmed<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    if ((await read()) === undefined) return undefined;
    await this.registry.settled();
    return read();
  }

  async #known(command: WebhookCommand): Promise<CommandResult | undefined> {
    const refusal = await this.stored.refusalOf(command);
    if (refusal !== undefined || command.kind !== 'update') return refusal;
    const record = await this.stored.record(command.id);
    return record !== undefined && changesNothing(command, record)
      ? { kind: 'updated', id: record.id, version: record.version }
      : undefined;
  }
}

function isOneOf<Kind extends CommandResult['kind']>(
  result: CommandResult,
  kinds: readonly Kind[],
): result is Extract<CommandResult, { kind: Kind }> {
  return kinds.some((kind) => kind === result.kind);
}

/**
 * Whether an update leaves a webhook as it is. A credential is sealed differently each time, so that its hash is compared, which
 * works for hashes of one key.
 */
function changesNothing(
  { changes, ifVersion }: Extract<WebhookCommand, { kind: 'update' }>,
  record: StoredRecord,
): boolean {
  if (ifVersion !== undefined && ifVersion !== record.version) return false;
  const { credential, credentialHash, secrets, oldSecretUntil, olderSecretUntil, ...plain } = changes;
  if ([secrets, oldSecretUntil, olderSecretUntil].some((each) => each !== undefined)) return false;
  if (credential !== undefined && credentialHash !== record.credentialHash) return false;
  const before: Readonly<Record<string, unknown>> = record;
  return Object.entries(plain).every(([name, value]) => (value ?? undefined) === before[name]);
}
