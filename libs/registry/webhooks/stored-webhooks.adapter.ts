import type { EnvelopeType } from '@relay/events';
import { defineScript, type LogView, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { optionalMembers, shownAttributes, type WebhookDetails, type WebhookRecord } from './webhook.js';
import { idsLua, listLua, refusalLua, SLICE, webhookKeys, wholeLua } from './webhook.script.js';

/**
 * A credential as it is stored: its kind in clear text, and each field encrypted by the keyring for this webhook and this
 * field.
 */
export const SealedCredential = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('apiKey'), apiKey: z.string() }),
  z.object({ kind: z.literal('jwt'), jwt: z.string() }),
  z.object({ kind: z.literal('basic'), userName: z.string(), password: z.string() }),
]);
export type SealedCredential = z.infer<typeof SealedCredential>;

/**
 * A webhook in the hash `webhooks`. `url` is the normalised address that requests go to, `endPointUrl` is what the partner
 * wrote.
 */
export const StoredRecord = z.object({
  id: z.string(),
  partnerId: z.string(),
  /**
   * May be unknown to this release: during a rollout, ingresses of the newer release may register webhooks for new types.
   */
  eventType: z.custom<EnvelopeType>((value) => typeof value === 'string'),
  endPointUrl: z.string(),
  url: z.string(),
  origin: z.string(),
  ...optionalMembers('stored'),
  credentialKind: z.enum(['apiKey', 'jwt', 'basic']),
  /** Keyed hash of the credential. A listing by credential finds webhooks by this hash. */
  credentialHash: z.string(),
  status: z.enum(['active', 'disabled']),
  disabledReason: z.string().optional(),
  /** Set on a webhook that a person disabled: its endpoint has not been verified yet. */
  isUntested: z.boolean().optional(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
  updatedAt: z.number(),
  /** Registry version at the registration; listings are ordered by it. */
  sequence: z.number(),
  /** Registry version at the last change. */
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
  /**
   * Epoch milliseconds until which the third secret also signs. It exists if the secret was rotated twice within 24 hours.
   */
  olderSecretUntil: z.number().optional(),
});

/** A webhook with its sealed values, as a command contains it. */
export const StoredWebhook = StoredRecord.omit({ credentialKind: true }).extend(SealedParts.shape);
export type StoredWebhook = z.infer<typeof StoredWebhook>;

export const readRecord = (json: string): StoredRecord => StoredRecord.parse(JSON.parse(json));

/** Returns a webhook from its record and its sealed values, which one script has read together. */
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
/** The members that an update writes. A member whose value is null is removed. */
export type WebhookChanges = {
  [Name in Exclude<keyof StoredWebhook, Fixed>]?:
    | Exclude<StoredWebhook[Name], undefined>
    | (undefined extends StoredWebhook[Name] ? null : never);
};

/**
 * A change of the registrations. It contains all ids, times and sealed values, so applying it is deterministic and needs no
 * encryption key. `webhook.script.ts` applies it.
 */
export type WebhookCommand =
  | {
      readonly kind: 'register';
      readonly limit: number;
      /** How many of the partner's webhooks for this event type may have the same origin. */
      readonly originLimit?: number;
      readonly webhook: Omit<StoredWebhook, 'sequence' | 'version'>;
    }
  | {
      readonly kind: 'update';
      readonly partnerId: string;
      readonly eventType: string;
      readonly id: string;
      /** Whether the webhook must be the partner's only one for its event type. */
      readonly only: boolean;
      /** The version that the webhook must still have (If-Match). */
      readonly ifVersion?: number;
      readonly at: number;
      /** Like `originLimit` of `register`, for an update that moves the webhook to another origin. */
      readonly originLimit?: number;
      readonly changes: WebhookChanges;
    }
  | {
      readonly kind: 'delete';
      readonly partnerId: string;
      readonly eventType: string;
      /** Commands of earlier releases have no id if the webhook was the partner's only one for its event type. */
      readonly id?: string;
      readonly only?: boolean;
      readonly ifVersion?: number;
    };

/**
 * `version` is the registry version after the change. `enabled` is present only if the change enabled a disabled webhook;
 * its value is the reason for which the webhook was disabled before. `stale` means that the webhook changed after the
 * command was built.
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

/** State of an active webhook. A webhook that was disabled loses its reason. */
export const ENABLED = { status: 'active', disabledReason: null } as const;
/** State of a webhook if endpoints must be verified: deliveries wait until the endpoint answers a test delivery with 2xx. */
export const UNVERIFIED = { status: 'disabled', disabledReason: 'unverified' } as const;

export type Fresh = typeof ENABLED | typeof UNVERIFIED;

const list = defineScript('webhook-list', listLua);
const ids = defineScript('webhook-ids', idsLua);
const whole = defineScript('webhook-whole', wholeLua);
const refusalScript = defineScript('webhook-refusal', refusalLua);

const Records = z.tuple([z.array(z.string().nullable()), z.number()]);
const Ids = z.tuple([z.array(z.string()), z.string()]);

const [WEBHOOKS] = webhookKeys;

/** Reads the registrations in Redis, slice by slice, in the layout of `webhook.script.ts`. */
export class StoredWebhooks {
  constructor(private readonly redis: Redis) {}

  count(): Promise<number> {
    return this.redis.hlen(WEBHOOKS);
  }

  async record(id: string): Promise<StoredRecord | undefined> {
    const json = await this.redis.hget(WEBHOOKS, id);
    return json === null ? undefined : readRecord(json);
  }

  /** Returns the webhook with its sealed values, both read at the same moment. */
  async whole(id: string): Promise<StoredWebhook | undefined> {
    const json = await this.wholeJson(id);
    return json === undefined ? undefined : readStored(...json);
  }

  async wholeJson(id: string): Promise<WholeJson['json'] | undefined> {
    return (await this.#wholeSlice([id])).found[0]?.json;
  }

  /**
   * Lists the records of one partner, oldest first; with `eventType` or `hash` only those for that event type or credential.
   */
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

  /** Like `list`, but only for the webhooks with these ids. There may be at most as many ids as one script reads. */
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

  /** Returns the ids of a partner's webhooks, or of its webhooks for one event type, oldest first. */
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

  /** Yields the ids of all webhooks that exist during the whole read, in slices; each id comes once. */
  async *ids(): AsyncGenerator<readonly string[]> {
    const seen = new Set<string>();
    // A webhook that changes during the read moves to the end, so none is missed.
    for await (const slice of this.#ids(':changes')) {
      const fresh = slice.filter((id) => !seen.has(id));
      for (const id of fresh) seen.add(id);
      yield fresh;
    }
  }

  /**
   * Yields every webhook that exists during the whole read, in slices; each webhook comes once. Webhooks are JSON texts
   * here, because some may be unreadable.
   */
  async *all(): AsyncGenerator<readonly WholeJson[]> {
    for await (const slice of this.ids())
      for (let left = slice; left.length > 0;) {
        const asked = left.slice(0, SLICE.records);
        const { found, count } = await this.#wholeSlice(asked);
        yield found;
        left = left.slice(count);
      }
  }

  /** Returns the result with which the present state refuses a command; undefined if nothing refuses it. */
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

/** Record and sealed values of a webhook as JSON texts, for `readStored`. */
export interface WholeJson {
  readonly id: string;
  readonly json: readonly [record: string, sealed: string];
}

const ownedKey = (partnerId: string, eventType?: string): string =>
  `:partner:${partnerId}${eventType === undefined ? '' : `:${eventType}`}`;

/** Whether a command is refused does not depend on its sealed values, so the check gets a command without them. */
const SEALED = new Set(['credential', 'secrets']);
const withoutSealed = (name: string, value: unknown): unknown => (SEALED.has(name) ? undefined : value);

/**
 * Sends commands to the registry. A command is not sent, and does not get into the log, if a read shows that it is refused
 * or changes nothing. The script that applies commands checks them again, because several commands may run at the same time.
 */
export class WebhookCommands {
  constructor(
    private readonly stored: StoredWebhooks,
    private readonly registry: LogView<WebhookCommand>,
  ) {}

  /** @throws Error if the result of the command has none of these kinds */
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

  /**
   * Reads a webhook before a change. A new registration may be in the log and not in Redis yet. So a webhook that is not
   * found is read again after Redis has applied the whole log.
   */
  async found<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    const found = await read();
    if (found !== undefined) return found;
    await this.registry.settled();
    return read();
  }

  /**
   * Reads a refusal, and reads it again after Redis has applied the whole log. An earlier change whose answer was lost may
   * be in the log and not in Redis yet.
   */
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
 * Whether an update leaves a webhook as it is. A credential is encrypted differently each time, so its hash is compared. If
 * the writing key changed in between, the hashes differ although the credential is the same, and the update is sent.
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
