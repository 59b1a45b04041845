import type { Keyring } from '@relay/keyring';
import { defineScript, runScript, type LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { readStored } from './stored-webhook.js';
import type { WebhookCommand } from './webhook-command.js';
import { webhookKeys } from './webhook-command.script.js';
import { changesLua } from './webhook-read.script.js';
import { webhookOf, WebhookView, type Webhook } from './webhook-view.js';

const changes = defineScript('webhook-changes', changesLua);

/** Version, extent, ids that moved, records; see `changesLua`. */
const Reply = z.tuple([
  z.number(),
  z.enum(['none', 'changes', 'all']),
  z.array(z.string()),
  z.array(z.string().nullable()),
]);

/** The view of a worker, brought up to date from Redis by what moved since. */
export class RedisWebhookView {
  #view = new WebhookView();
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #everything = false;

  constructor(
    private readonly redis: Redis,
    private readonly registry: Pick<LogView<WebhookCommand>, 'current' | 'catchUp'>,
    private readonly keyring: Keyring,
  ) {}

  /** Registry version shown; -1 while nothing is loaded. */
  get version(): number {
    return this.#view.version;
  }

  /**
   * Shows at least what the registry held when the caller read `version`. Another version than ours, higher or lower, is
   * asked about in Redis: a lower one is either an old question, which changes nothing, or Redis went back in time, and
   * everything is read again. Calls made meanwhile share one further read. Rejects when Redis cannot be reached.
   */
  async refreshTo(version: number): Promise<void> {
    if (version !== this.version || this.#everything) await this.#readNext();
  }

  /**
   * Reads everything again: after every new Redis connection, because a Redis that went back in time may have counted
   * on past our version by other changes.
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

  // A read that runs already may have left before the version asked for was written: only the next one is sure.
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
      let reply = await this.#ask(everything);
      // Redis went back, or was emptied, without a new connection.
      if (reply[0] < this.version) {
        await this.registry.catchUp();
        reply = await this.#ask(everything);
      }
      this.#show(reply);
    } catch (error) {
      this.#everything ||= everything;
      throw error;
    }
  }

  async #ask(everything: boolean): Promise<z.infer<typeof Reply>> {
    return Reply.parse(await runScript(this.redis, changes, webhookKeys, [everything ? -1 : this.version]));
  }

  #show([version, extent, ids, records]: z.infer<typeof Reply>): void {
    const opened = records.map((json) => (json === null ? undefined : webhookOf(readStored(json), this.keyring)));
    const view = extent === 'all' ? new WebhookView() : this.#view;
    for (const id of ids) view.remove(id);
    for (const webhook of opened) if (webhook !== undefined) view.put(webhook);
    view.version = version;
    this.#view = view;
  }
}
