import type { Keyring } from '@relay/keyring';
import { defineScript, NO_REGISTRY, readRegistryVersion, registryVersionKeys, runScript } from '@relay/redis';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { readRecord, type StoredRecord, type WebhookCommand } from './stored-webhook.js';
import { StoredWebhooks } from './stored-webhooks.adapter.js';
import { webhookKeys } from './webhook-layout.script.js';
import { changesLua } from './webhook-read.script.js';
import { webhookOf, WebhookView, openedOf, type Webhook, type OpenedWebhook } from './webhook-view.js';

interface OpenedLimits {
  readonly entries: number;
  /** Limit of the sealed values; the opened values take the same amount of memory in addition. */
  readonly bytes: number;
}

const LIMITS: OpenedLimits = { entries: 10_000, bytes: 16 * 1_048_576 };

interface Entry {
  readonly version: number;
  readonly bytes: number;
  readonly opened: OpenedWebhook;
}

/**
 * Cache of the credentials and signing secrets of webhooks with deliveries: read on demand, valid for one version of a webhook, the
 * least recently used evicted first.
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

  /** Rejects when Redis is away or has another version, and with `CannotOpen`. */
  async of(id: string, version: number): Promise<OpenedWebhook> {
    const entry = this.#entries.get(id);
    if (entry?.version === version) {
      // A Map keeps the order of insertion: writing an entry again makes it the most recently used.
      this.#entries.delete(id);
      this.#entries.set(id, entry);
      return entry.opened;
    }
    const key = `${id} ${version}`;
    const asked = this.#asked.get(key) ?? this.#read(id, version).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }

  /** For a Redis that lost its latest writes: the cache may hold versions that it does not know. */
  clear(): void {
    this.#epoch += 1;
    this.#entries.clear();
    this.#bytes = 0;
  }

  async #read(id: string, version: number): Promise<OpenedWebhook> {
    const epoch = this.#epoch;
    const stored = await this.stored.whole(id);
    if (stored?.version !== version) throw new Error('The webhook was changed or deleted meanwhile');
    const { partnerId, credential, secrets, oldSecretUntil: old, olderSecretUntil: older } = stored;
    const until = {
      ...(old === undefined ? {} : { oldSecretUntil: old }),
      ...(older === undefined ? {} : { olderSecretUntil: older }),
    };
    const opened = openedOf({ id, partnerId, credential, secrets, ...until }, this.keyring, Date.now());
    const bytes = JSON.stringify([credential, secrets]).length;
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

/** Version, state, changes until, records, deletions until, ids deleted; see `changesLua`. */
const Reply = z.tuple([
  z.number(),
  z.enum(['none', 'more', 'last', 'lost', 'broken']),
  z.number(),
  z.array(z.string().nullable()),
  z.number(),
  z.array(z.string()),
]);

/** The view of a worker, kept current from Redis by the changes since its version. */
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

  /** Registry version of the view; -1 while nothing is loaded. */
  get version(): number {
    return this.#view.version;
  }

  /**
   * Brings the view at least to the state at which the caller read `version`. Any other version than the view's leads to a read
   * of Redis: a lower one is either outdated, which changes nothing, or Redis went back in time, and everything is read again.
   * Concurrent calls share one further read. Rejects when Redis cannot be reached.
   */
  async refreshTo(version: number): Promise<void> {
    const isShown = version === this.version && version !== NO_REGISTRY;
    if (!isShown || this.#everything) await this.#readNext();
  }

  /** Brings the view to the present state of the registry. Rejects when Redis cannot be reached. */
  async refresh(): Promise<void> {
    await this.refreshTo(await readRegistryVersion(this.redis));
  }

  /**
   * Reads everything again, after every new connection to Redis: a Redis that went back in time may have reached the view's
   * version by other changes.
   */
  async reload(): Promise<void> {
    this.#everything = true;
    await this.#readNext();
  }

  find(id: string): Webhook | undefined {
    return this.#view.find(id);
  }

  /** See `WebhookView.matching`. */
  matching(eventType: string, audience: readonly string[]): readonly Webhook[] {
    return this.#view.matching(eventType, audience);
  }

  async #readNext(): Promise<void> {
    this.#next ??= this.#afterRunning();
    await this.#next;
  }

  // A read under way may have begun before the requested version was written: only the next one is sure to include it.
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
      // Redis may have been emptied, or have gone back in time, without a new connection.
      await this.registry.catchUp();
      const view = new WebhookView();
      this.#opened.clear();
      if (!(await this.#readFrom(view, -1))) continue;
      this.#view = view;
      return;
    }
  }

  /**
   * Brings a view up to date, slice by slice. The version changes only at the end: a webhook of an earlier slice may change
   * during the read and appear in a later slice. Returns false when the view must be read again.
   */
  async #readFrom(view: WebhookView, version: number): Promise<boolean> {
    for (let [since, goneSince] = [version, version]; ;) {
      const reply = await runScript(this.redis, changes, changesKeys, [since, goneSince]);
      const [newest, state, till, records, goneTill, gone] = Reply.parse(reply);
      if (state === 'lost') return false;
      // An envelope would end without a delivery to those that are missing.
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
