import type { Keyring } from '@relay/keyring';
import {
  defineScript,
  NO_REGISTRY,
  readRegistryVersion,
  registryVersionKeys,
  runScript,
  type LogView,
} from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { OpenedWebhooks, type OpenedLimits } from './opened-webhooks.adapter.js';
import { readRecord, type StoredRecord } from './stored-webhook.js';
import { StoredWebhooks } from './stored-webhooks.adapter.js';
import type { WebhookCommand } from './webhook-command.js';
import { webhookKeys } from './webhook-layout.script.js';
import { changesLua } from './webhook-read.script.js';
import { webhookOf, WebhookView, type Webhook } from './webhook-view.js';

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
