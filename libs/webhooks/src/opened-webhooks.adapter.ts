import type { Keyring } from '@relay/keyring';
import type { StoredWebhooks } from './stored-webhooks.adapter.js';
import { openedOf, type OpenedWebhook } from './webhook-view.js';

export interface OpenedLimits {
  readonly entries: number;
  /** Of the sealed values; the opened ones take as much again. */
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
export class OpenedWebhooks {
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
