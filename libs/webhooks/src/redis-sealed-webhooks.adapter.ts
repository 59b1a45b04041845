import { randomBytes } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { kidsOf, resealed } from './resealing.js';
import { readStored } from './stored-webhook.js';
import { CommandResult, type WebhookCommand } from './webhook-command.js';
import { webhookKeys } from './webhook-command.script.js';

const [WEBHOOKS] = webhookKeys;
/** Records read in one call: Redis does nothing else meanwhile. */
const SLICE = 200;

/** `current`: its values were under the writing key. `unreadable`: no key opens one of them. `gone`: deleted meanwhile. */
export type Resealing = 'resealed' | 'current' | 'unreadable' | 'gone';

/** What is kept sealed for all webhooks of all partners, and sealing it anew under the writing key. */
export class RedisSealedWebhooks {
  constructor(
    private readonly redis: Redis,
    private readonly registry: LogView<WebhookCommand>,
    private readonly keyring: Keyring,
    private readonly now: () => number,
  ) {}

  count(): Promise<number> {
    return this.redis.hlen(WEBHOOKS);
  }

  /** The ids of all webhooks that are there from begin to end, in slices, each once. */
  async *ids(): AsyncGenerator<readonly string[]> {
    const seen = new Set<string>();
    for await (const slice of this.#slices()) {
      const fresh = [...slice.keys()].filter((id) => !seen.has(id));
      for (const id of fresh) seen.add(id);
      yield fresh;
    }
  }

  /** The webhooks that need a key, by the key's name; one that cannot be read may need any. */
  async byKey(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const found = new Map<string, Set<string>>();
    for await (const slice of this.#slices()) {
      for (const [id, json] of slice) {
        for (const kid of this.#neededBy(json)) {
          const ids = found.get(kid) ?? new Set();
          found.set(kid, ids.add(id));
        }
      }
    }
    return found;
  }

  /**
   * Seals the values of a webhook anew unless they are current. The change is made only while the webhook is as it was read:
   * of an update at the same time nothing is lost. Its `updatedAt` stays; its version, hence its ETag, moves.
   */
  async reseal(id: string): Promise<Resealing> {
    for (;;) {
      const json = await this.redis.hget(WEBHOOKS, id);
      if (json === null) return 'gone';
      const command = this.#commandFor(json);
      if (typeof command === 'string') return command;
      const { kind } = CommandResult.parse(await this.registry.change(command));
      if (kind === 'updated') return 'resealed';
      if (kind === 'not-found') return 'gone';
      if (kind !== 'stale') throw new Error(`Sealing anew cannot end as ${kind}`);
    }
  }

  #commandFor(json: string): WebhookCommand | 'current' | 'unreadable' {
    try {
      const stored = readStored(json);
      const changes = resealed(stored, this.keyring, this.now(), () => randomBytes(12));
      if (changes === undefined) return 'current';
      const { id, partnerId, eventType, version: ifVersion, updatedAt: at } = stored;
      return { kind: 'update', id, partnerId, eventType, only: false, ifVersion, at, changes };
    } catch {
      return 'unreadable';
    }
  }

  #neededBy(json: string): Iterable<string> {
    try {
      return kidsOf(readStored(json));
    } catch {
      return this.keyring.kids;
    }
  }

  async *#slices(): AsyncGenerator<ReadonlyMap<string, string>> {
    let cursor = '0';
    do {
      const [next, found] = await this.redis.hscan(WEBHOOKS, cursor, 'COUNT', SLICE);
      cursor = next;
      const slice = new Map<string, string>();
      for (let at = 0; at + 1 < found.length; at += 2) slice.set(found[at] ?? '', found[at + 1] ?? '');
      yield slice;
    } while (cursor !== '0');
  }
}
