import { setTimeout as delay } from 'node:timers/promises';
import { type Log, reasonOf } from '@relay/telemetry';
import {
  AnotherLog,
  AttemptFollower,
  type AttemptLog,
  type IndexState,
  type PlacedWebhooks,
  WebhookPlaces,
} from './attempt-follower.js';
import type { IndexedAttempt } from './attempt-row.js';
import type { AttemptSearch } from './attempt-search.js';
import { AttemptStore, type AttemptPage, type AttemptTally } from './attempt-store.adapter.js';
import { SqliteFault } from './sqlite-file.adapter.js';

/** @property windowMs attempts are kept for that long @property maxBytes of the file */
export interface IndexSettings {
  readonly path: string;
  readonly windowMs: number;
  readonly maxBytes: number;
}

const AGAIN_MS = 2_000;

/** The index of attempts of this process. It begins with `start`, and mends itself: after a fault it goes on where it was. */
export class AttemptIndex {
  #store: AttemptStore | undefined;
  #follower: AttemptFollower | undefined;
  #running: Promise<void> | undefined;
  #isEnding = false;
  readonly #ending = new AbortController();

  constructor(
    private readonly settings: IndexSettings,
    private readonly records: AttemptLog,
    private readonly webhooks: PlacedWebhooks,
    private readonly log: Log,
  ) {}

  start(): void {
    this.#running ??= this.#run();
  }

  /** Part that a story misses without the index. */
  readonly part = 'index';

  get state(): IndexState {
    return this.#follower?.state ?? { isCurrent: false, lag: 0 };
  }

  /**
   * Returns the time from which on no attempt is missing, but for those that `state` reports; undefined while the index is away.
   */
  async since(): Promise<number | undefined> {
    const stored = await this.#asked((store) => store.since(), undefined);
    return stored === undefined ? undefined : Math.max(stored, Date.now() - this.settings.windowMs);
  }

  /** Newest first; nothing while the index is away. */
  find(search: AttemptSearch): Promise<AttemptPage> {
    return this.#asked((store) => store.find(search), { attempts: [] });
  }

  /** Oldest first; nothing while the index is away. */
  ofEnvelope(envelopeId: string): Promise<readonly IndexedAttempt[]> {
    return this.#asked((store) => store.ofEnvelope(envelopeId), []);
  }

  /** Attempts that began at a time or later; undefined while the index is away. @param from epoch milliseconds */
  tally(from: number): Promise<AttemptTally | undefined> {
    return this.#asked<AttemptTally | undefined>((store) => store.tally(from), undefined);
  }

  async close(): Promise<void> {
    this.#isEnding = true;
    this.#ending.abort();
    await this.records.close();
    await this.#running;
  }

  async #asked<T>(question: (store: AttemptStore) => Promise<T>, otherwise: T): Promise<T> {
    const store = this.#store;
    if (store === undefined) return otherwise;
    try {
      return await question(store);
    } catch (error) {
      if (!(error instanceof SqliteFault)) throw error;
      if (error.isDamage) await this.#discard(store, error.message);
      return otherwise;
    }
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      await this.#follow().catch((error: unknown) => this.#failed(error));
      const opened = this.#store;
      [this.#store, this.#follower] = [undefined, undefined];
      await opened?.close();
      await delay(AGAIN_MS, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    }
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#isEnding) return;
    const reason = reasonOf(error);
    const isUseless = error instanceof AnotherLog || (error instanceof SqliteFault && error.isDamage);
    if (isUseless && this.#store !== undefined) return this.#discard(this.#store, reason);
    this.log.warn('search.behind', 'The index of attempts cannot go on; it tries again', { reason });
  }

  async #follow(): Promise<void> {
    const { path, maxBytes, windowMs } = this.settings;
    const name = await this.records.name();
    const store = await AttemptStore.open(path, name, maxBytes, (reason) => this.#rebuilds(reason));
    this.#store = store;
    this.#follower = new AttemptFollower(this.records, store, new WebhookPlaces(this.webhooks), windowMs);
    await this.#follower.follow(name, () => this.#isEnding);
  }

  /** Discards the file; the next round makes a new one. */
  async #discard(store: AttemptStore, reason: string): Promise<void> {
    if (this.#store !== store) return;
    this.#store = undefined;
    this.#rebuilds(reason);
    await store.discard();
  }

  #rebuilds(reason: string): void {
    this.log.warn('search.rebuilt', 'The index of attempts is thrown away and built from Kafka again', { reason });
  }
}
