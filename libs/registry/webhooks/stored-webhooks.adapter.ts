import { defineScript, runScript, type LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { readRecord, readStored, CommandResult } from './stored-webhook.js';
import type { StoredRecord, StoredWebhook, WebhookCommand } from './stored-webhook.js';
import { SLICE, webhookKeys } from './webhook-layout.script.js';
import { idsLua, listLua, refusalLua, wholeLua } from './webhook-read.script.js';

const list = defineScript('webhook-list', listLua);
const ids = defineScript('webhook-ids', idsLua);
const whole = defineScript('webhook-whole', wholeLua);
const refusalScript = defineScript('webhook-refusal', refusalLua);

const Records = z.tuple([z.array(z.string().nullable()), z.number()]);
const Ids = z.tuple([z.array(z.string()), z.string()]);

const [WEBHOOKS] = webhookKeys;

/** Reads of the registrations in Redis, slice by slice, in the layout of `webhook-layout.script.ts`. */
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
