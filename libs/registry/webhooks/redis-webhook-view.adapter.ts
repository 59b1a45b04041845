import type { Keyring } from '@relay/keyring';
import { defineScript, NO_REGISTRY, readRegistryVersion, registryVersionKeys, runScript } from '@relay/redis';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Credential } from './credential.js';
import { readRecord, StoredWebhooks } from './stored-webhooks.adapter.js';
import type { StoredRecord, StoredWebhook, WebhookCommand } from './stored-webhooks.adapter.js';
import { type Openable, openCredential, openSecrets, signingAt } from './webhook-changes.js';
import { type Attributes, namedAttributes } from './webhook.js';
import { changesLua, webhookKeys } from './webhook.script.js';

interface OpenedLimits {
  readonly entries: number;
  /**
   * Limit for the total size of the entries, measured in sealed values and attributes; the opened values take less memory.
   */
  readonly bytes: number;
}

const LIMITS: OpenedLimits = { entries: 10_000, bytes: 16 * 1_048_576 };

interface Entry {
  readonly version: number;
  readonly bytes: number;
  readonly opened: OpenedWebhook;
}

/**
 * Cache of the credentials and signing secrets of webhooks that have deliveries. An entry is read on demand and is valid for
 * one version of a webhook. The least recently used entries are evicted first.
 */
class OpenedWebhooks {
  readonly #entries = new Map<string, Entry>();
  readonly #asked = new Map<string, Promise<OpenedWebhook>>();
  #bytes = 0;
  #epoch = 0;

  constructor(
    private readonly stored: StoredWebhooks,
    private readonly keyring: Keyring,
    private readonly limits: OpenedLimits = LIMITS,
  ) {}

  /**
   * Rejects if Redis cannot be reached or has another version of the webhook, and with `CannotOpen` if a value cannot be
   * decrypted.
   */
  async of(id: string, version: number): Promise<OpenedWebhook> {
    const entry = this.#entries.get(id);
    if (entry?.version === version) {
      // A Map keeps the order of insertion, so an entry that is inserted again becomes the most recently used.
      this.#entries.delete(id);
      this.#entries.set(id, entry);
      return entry.opened;
    }
    const key = `${id} ${version}`;
    const asked = this.#asked.get(key) ?? this.#read(id, version).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }

  /** To be called if Redis lost its latest writes: the cache may then hold versions that Redis does not have. */
  clear(): void {
    this.#epoch += 1;
    this.#entries.clear();
    this.#bytes = 0;
  }

  async #read(id: string, version: number): Promise<OpenedWebhook> {
    const epoch = this.#epoch;
    const stored = await this.stored.whole(id);
    if (stored?.version !== version) throw new Error('The webhook was changed or deleted meanwhile');
    const opened = openedOf(stored, this.keyring, Date.now());
    const { credential, secrets } = stored;
    const bytes = JSON.stringify([credential, secrets, ...Object.values(namedAttributes(stored))]).length;
    if (epoch === this.#epoch) this.#keep(id, { version, bytes, opened });
    return opened;
  }

  #keep(id: string, entry: Entry): void {
    this.#drop(id);
    this.#entries.set(id, entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.limits.entries && this.#bytes <= this.limits.bytes) return;
      this.#drop(oldest);
    }
  }

  #drop(id: string): void {
    this.#bytes -= this.#entries.get(id)?.bytes ?? 0;
    this.#entries.delete(id);
  }
}

const changes = defineScript('webhook-changes', changesLua);
const changesKeys = [webhookKeys[0], ...registryVersionKeys];

/** The reply of `changesLua`: version, state, changes until, records, deletions until, ids deleted. */
const Reply = z.tuple([
  z.number(),
  z.enum(['none', 'more', 'last', 'lost', 'broken']),
  z.number(),
  z.array(z.string().nullable()),
  z.number(),
  z.array(z.string()),
]);

/** A worker's view of all webhooks, in memory. A refresh reads the changes since the version of the view from Redis. */
export class RedisWebhookView {
  #view = new WebhookView();
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #everything = false;
  readonly #opened: OpenedWebhooks;

  constructor(
    private readonly redis: Redis,
    private readonly registry: Pick<LogView<WebhookCommand>, 'current' | 'catchUp'>,
    keyring: Keyring,
    limits?: OpenedLimits,
  ) {
    this.#opened = new OpenedWebhooks(new StoredWebhooks(redis), keyring, limits);
  }

  /** Registry version of the view; -1 as long as nothing is loaded. */
  get version(): number {
    return this.#view.version;
  }

  /**
   * Brings the view at least to the state in which the caller read `version`. If the view has another version, Redis is
   * read. A `version` below that of the view can have two reasons. If the version is just outdated, nothing changes. If
   * Redis lost its latest writes, everything is read again. Concurrent calls share one further read. Rejects if Redis cannot
   * be reached.
   */
  async refreshTo(version: number): Promise<void> {
    const isShown = version === this.version && version !== NO_REGISTRY;
    if (!isShown || this.#everything) await this.#readNext();
  }

  /** Brings the view to the present state of the registry. Rejects if Redis cannot be reached. */
  async refresh(): Promise<void> {
    await this.refreshTo(await readRegistryVersion(this.redis));
  }

  /**
   * Reads everything again. This is needed after every new connection to Redis, because a Redis that lost its latest writes
   * may have reached the view's version by other changes.
   */
  async reload(): Promise<void> {
    this.#everything = true;
    await this.#readNext();
  }

  find(id: string): Webhook | undefined {
    return this.#view.find(id);
  }

  all(): readonly Webhook[] {
    return this.#view.all();
  }

  /** See `WebhookView.matching`. */
  matching(eventType: string, audience: readonly string[]): readonly Webhook[] {
    return this.#view.matching(eventType, audience);
  }

  async #readNext(): Promise<void> {
    this.#next ??= this.#afterRunning();
    await this.#next;
  }

  // A read under way may have begun before the requested version was written. Only the next read certainly includes this
  // version.
  async #afterRunning(): Promise<void> {
    await this.#running?.catch(() => undefined);
    this.#next = undefined;
    this.#running = this.#read();
    await this.#running;
  }

  async #read(): Promise<void> {
    const everything = this.#everything;
    this.#everything = false;
    try {
      await this.registry.current();
      if (everything || !(await this.#readFrom(this.#view, this.version))) await this.#readAnew();
    } catch (error) {
      this.#everything ||= everything;
      throw error;
    }
  }

  async #readAnew(): Promise<void> {
    for (;;) {
      // Redis may have been emptied, or have lost its latest writes, without a new connection.
      await this.registry.catchUp();
      const view = new WebhookView();
      this.#opened.clear();
      if (!(await this.#readFrom(view, -1))) continue;
      this.#view = view;
      return;
    }
  }

  /**
   * Brings a view up to date, slice by slice. The version of the view changes only at the end, because a webhook of an
   * earlier slice may change during the read and then appear in a later slice. Returns false if the view must be read again
   * from the beginning.
   */
  async #readFrom(view: WebhookView, version: number): Promise<boolean> {
    for (let [since, goneSince] = [version, version]; ;) {
      const reply = await runScript(this.redis, changes, changesKeys, [since, goneSince]);
      const [newest, state, till, records, goneTill, gone] = Reply.parse(reply);
      if (state === 'lost') return false;
      // If webhooks were missing here, their deliveries would never be made.
      if (state === 'broken')
        throw new Error(
          'Keys of the webhooks are gone from Redis, evicted or deleted: treat it as lost, see RelayConditionBroken in docs/operations/runbooks.md',
        );
      for (const json of records) if (json !== null) view.put(this.#webhookOf(readRecord(json)));
      for (const id of gone) view.remove(id);
      [since, goneSince] = [till, goneTill];
      if (state === 'more') continue;
      view.version = newest;
      return true;
    }
  }

  #webhookOf(record: StoredRecord): Webhook {
    const { id, version } = record;
    return webhookOf(record, () => this.#opened.of(id, version));
  }
}

/** The optional attributes of a webhook, with its credential and secrets in clear text. */
export interface OpenedWebhook extends Attributes {
  credential(): Credential;
  /** Returns the secrets that sign at `now`, the one in force first. `now` must not be before the time of the decryption. */
  secrets(now: number): readonly string[];
}

export interface Webhook {
  readonly id: string;
  readonly partnerId: string;
  readonly eventType: string;
  readonly url: string;
  readonly origin: string;
  /** Partner and origin. The webhooks with the same partner and origin share a concurrency limit and a circuit breaker. */
  readonly endpoint: string;
  /** Endpoint and id. They identify the circuit breaker of this webhook alone. */
  readonly breakerKey: string;
  readonly version: number;
  /** Epoch milliseconds of the registration. */
  readonly createdAt: number;
  readonly status: StoredWebhook['status'];
  readonly disabledReason: StoredWebhook['disabledReason'];
  /**
   * Resolves with the decrypted values of this version. Rejects with `CannotOpen` if no key decrypts them, and with another
   * error if they cannot be read or the registration has changed. After a rejection, no attempt may be made and none is
   * counted.
   */
  opened(): Promise<OpenedWebhook>;
}

export function breakerKeysOf(
  of: Pick<Webhook, 'id' | 'partnerId' | 'origin'>,
): Pick<Webhook, 'endpoint' | 'breakerKey'> {
  const endpoint = `${of.partnerId} ${of.origin}`;
  return { endpoint, breakerKey: `${endpoint} ${of.id}` };
}

export function webhookOf(stored: Omit<StoredRecord, 'credentialKind'>, opened: () => Promise<OpenedWebhook>): Webhook {
  const { id, partnerId, eventType, url, origin, version, createdAt, status, disabledReason } = stored;
  const facts = { id, partnerId, eventType, url, origin, version, createdAt, status, disabledReason };
  return { ...facts, ...breakerKeysOf(stored), opened };
}

/** Decrypts the credential of a webhook, and the secrets that sign at `now`. @throws CannotOpen */
export function openedOf(stored: Openable & Attributes, keyring: Keyring, now: number): OpenedWebhook {
  const credential = openCredential(stored, keyring);
  const { oldSecretUntil, olderSecretUntil } = stored;
  // An older secret expires sooner. So the secrets that still sign are the first ones, and keep their positions.
  const signing = { secrets: openSecrets(stored, keyring, now), oldSecretUntil, olderSecretUntil };
  return { ...namedAttributes(stored), credential: () => credential, secrets: (at) => signingAt(signing, at) };
}

interface Group {
  readonly members: Map<string, Webhook>;
  /** The members as a list, which is never changed, because a reader may still iterate over it. */
  snapshot: readonly Webhook[] | undefined;
}

/**
 * Webhooks in memory, grouped by event type, and by event type and partner. A change takes constant time, because the list
 * of a group is built again only when it is next read.
 */
export class WebhookView {
  readonly #byId = new Map<string, Webhook>();
  readonly #groups = new Map<string, Group>();

  /** Registry version of this view; -1 while it is empty. */
  version = -1;

  put(webhook: Webhook): void {
    this.remove(webhook.id);
    this.#byId.set(webhook.id, webhook);
    for (const name of groupsOf(webhook)) {
      const group = this.#groups.get(name) ?? { members: new Map(), snapshot: undefined };
      group.members.set(webhook.id, webhook);
      group.snapshot = undefined;
      this.#groups.set(name, group);
    }
  }

  remove(id: string): void {
    const webhook = this.#byId.get(id);
    if (webhook === undefined) return;
    this.#byId.delete(id);
    for (const name of groupsOf(webhook)) {
      const group = this.#groups.get(name);
      if (group === undefined) continue;
      group.members.delete(id);
      group.snapshot = undefined;
      if (group.members.size === 0) this.#groups.delete(name);
    }
  }

  find(id: string): Webhook | undefined {
    return this.#byId.get(id);
  }

  all(): readonly Webhook[] {
    return [...this.#byId.values()];
  }

  /** The webhooks of this event type that belong to these partners; an empty audience means all partners. */
  matching(eventType: string, audience: readonly string[]): readonly Webhook[] {
    if (audience.length === 0) return this.#list(eventType);
    const lists = [...new Set(audience)].map((partnerId) => this.#list(`${eventType} ${partnerId}`));
    return lists.length === 1 ? (lists[0] ?? []) : lists.flat();
  }

  #list(name: string): readonly Webhook[] {
    const group = this.#groups.get(name);
    if (group === undefined) return [];
    return (group.snapshot ??= [...group.members.values()]);
  }
}

const groupsOf = ({ eventType, partnerId }: Webhook): string[] => [eventType, `${eventType} ${partnerId}`];
