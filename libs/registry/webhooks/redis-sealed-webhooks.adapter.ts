import { randomBytes } from 'node:crypto';
import { kidOf, type Keyring } from '@relay/keyring';
import type { LogView } from '@relay/redis';
import type { Redis } from 'ioredis';
import { CommandResult, readStored, StoredWebhooks } from './stored-webhooks.adapter.js';
import type { StoredWebhook, WebhookChanges, WebhookCommand, WholeJson } from './stored-webhooks.adapter.js';
import { credentialHash, openCredential, openSecrets, seal, sealCredential } from './webhook-changes.js';
import { openedOf } from './redis-webhook-view.adapter.js';

/**
 * `current`: the values of the webhook are encrypted with the writing key already. `unreadable`: at least one value cannot
 * be decrypted. `gone`: the webhook was deleted meanwhile.
 */
export type Resealing = 'resealed' | 'current' | 'unreadable' | 'gone';

/** The sealed (encrypted) values of all webhooks of all partners, and their re-encryption with the writing key. */
export class RedisSealedWebhooks {
  readonly #stored: StoredWebhooks;

  constructor(
    redis: Redis,
    private readonly registry: LogView<WebhookCommand>,
    private readonly keyring: Keyring,
    private readonly now: () => number,
  ) {
    this.#stored = new StoredWebhooks(redis);
  }

  count(): Promise<number> {
    return this.#stored.count();
  }

  /** Yields the ids of all webhooks that exist during the whole read, in slices; each id comes once. */
  ids(): AsyncGenerator<readonly string[]> {
    return this.#stored.ids();
  }

  /** Returns for each webhook whether the keys decrypt the values that its deliveries need now. */
  async openings(): Promise<{ readonly id: string; readonly opens: boolean }[]> {
    const found: { id: string; opens: boolean }[] = [];
    for await (const slice of this.#stored.all())
      found.push(...slice.map((each) => ({ id: each.id, opens: this.#opens(each) })));
    return found;
  }

  /**
   * Returns the ids of webhooks by the name of the key that they need. A webhook that cannot be read is listed under every
   * key.
   */
  async byKey(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const found = new Map<string, Set<string>>();
    for await (const slice of this.#stored.all()) {
      for (const each of slice) {
        for (const kid of this.#neededBy(each)) {
          const ids = found.get(kid) ?? new Set();
          found.set(kid, ids.add(each.id));
        }
      }
    }
    return found;
  }

  /**
   * Encrypts the values of a webhook with the writing key, unless they are already. The change applies only to the version
   * that was read, so no concurrent update is lost. `updatedAt` stays; the version changes, and therefore the ETag.
   */
  async reseal(id: string): Promise<Resealing> {
    for (;;) {
      const command = await this.#commandFor(id);
      if (typeof command === 'string') return command;
      const { kind } = CommandResult.parse(await this.registry.change(command));
      if (kind === 'updated') return 'resealed';
      if (kind === 'not-found') return 'gone';
      if (kind !== 'stale') throw new Error(`Sealing anew cannot end as ${kind}`);
    }
  }

  async #commandFor(id: string): Promise<WebhookCommand | 'current' | 'unreadable' | 'gone'> {
    const json = await this.#stored.wholeJson(id);
    if (json === undefined) return 'gone';
    try {
      const stored = readStored(...json);
      const changes = resealed(stored, this.keyring, this.now(), () => randomBytes(12));
      if (changes === undefined) return 'current';
      const { partnerId, eventType, version: ifVersion, updatedAt: at } = stored;
      return { kind: 'update', id, partnerId, eventType, only: false, ifVersion, at, changes };
    } catch {
      return 'unreadable';
    }
  }

  #opens({ json }: WholeJson): boolean {
    try {
      openedOf(readStored(...json), this.keyring, this.now());
      return true;
    } catch {
      return false;
    }
  }

  #neededBy({ json }: WholeJson): Iterable<string> {
    try {
      return kidsOf(readStored(...json));
    } catch {
      return this.keyring.kids;
    }
  }
}

export function kidsOf({ credential, credentialHash: hash, secrets }: StoredWebhook): ReadonlySet<string> {
  const { kind: _kind, ...fields } = credential;
  return new Set([...Object.values(fields), hash, ...secrets].map(kidOf));
}

/**
 * Returns the values of a webhook encrypted with the writing key, without expired secrets; undefined if they are encrypted
 * with it already. In both cases every value is decrypted, so a value that cannot be decrypted is found.
 * @throws Error if a key is missing, or if a value was altered or belongs to another webhook
 */
export function resealed(
  stored: StoredWebhook,
  keyring: Keyring,
  now: number,
  iv: () => Buffer,
): WebhookChanges | undefined {
  const credential = openCredential(stored, keyring);
  const secrets = openSecrets(stored, keyring, now);
  if ([...kidsOf(stored)].every((kid) => kid === keyring.kids[0])) return undefined;
  return {
    credential: sealCredential(credential, stored, keyring, iv),
    credentialHash: credentialHash(credential, keyring),
    secrets: secrets.map((secret) => seal(secret, 'secret', stored, keyring, iv)),
  };
}
