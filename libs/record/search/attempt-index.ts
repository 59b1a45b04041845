import { setTimeout as delay } from 'node:timers/promises';
import { AttemptRecord, deliveryAttemptsTopic, type LogRecord } from '@relay/events';
import { answeredWithin, type FetchedPart, type KeptAdmin, type LogFetcher, rangesWithin } from '@relay/kafka';
import { type Log, reasonOf } from '@relay/telemetry';
import type { AttemptCount, AttemptSearch, IndexedAttempt } from './attempt-sql.js';
import { type AttemptPage, AttemptStore, type AttemptTally, type Position } from './attempt-store.adapter.js';
import { SqliteFault } from './sqlite-file.adapter.js';

/**
 * @property path path of the index file
 * @property windowMs how long attempts are kept
 * @property maxBytes maximum size of the index file
 */
export interface IndexSettings {
  readonly path: string;
  readonly windowMs: number;
  readonly maxBytes: number;
}

const AGAIN_MS = 2_000;

/**
 * The index of attempts of this process. `start` begins to read the log of attempts into it. After a fault, the index tries
 * again and continues at the position that it had reached.
 */
export class AttemptIndex {
  #store: AttemptStore | undefined;
  #follower: AttemptFollower | undefined;
  #running: Promise<void> | undefined;
  #isEnding = false;
  readonly #ending = new AbortController();

  constructor(
    private readonly settings: IndexSettings,
    private readonly records: AttemptTopic,
    private readonly webhooks: PlacedWebhooks,
    private readonly log: Log,
  ) {}

  start(): void {
    this.#running ??= this.#run();
  }

  /** Name for the index in the list of parts that a story lacks. */
  readonly part = 'index';

  get state(): IndexState {
    return this.#follower?.state ?? { isCurrent: false, lag: 0 };
  }

  /**
   * Returns the time from which on the index has every attempt, except those that it has not read yet (see `state.lag`);
   * undefined while the index is not available.
   */
  async since(): Promise<number | undefined> {
    const stored = await this.#asked((store) => store.since(), undefined);
    return stored === undefined ? undefined : Math.max(stored, Date.now() - this.settings.windowMs);
  }

  /** Finds attempts, newest first. Returns none while the index is not available. */
  find(search: AttemptSearch): Promise<AttemptPage> {
    return this.#asked((store) => store.find(search), { attempts: [] });
  }

  /** Returns the attempts of an envelope, oldest first. Returns none while the index is not available. */
  ofEnvelope(envelopeId: string): Promise<readonly IndexedAttempt[]> {
    return this.#asked((store) => store.ofEnvelope(envelopeId), []);
  }

  /**
   * Counts the attempts since a time; undefined while the index is not available.
   * @param from earliest time of an attempt, in epoch milliseconds
   */
  tally(from: number): Promise<AttemptTally | undefined> {
    return this.#asked<AttemptTally | undefined>((store) => store.tally(from), undefined);
  }

  /** Counts attempts as `AttemptStore.counts` does. Returns none while the index is not available. */
  counts(from: number, until: number, stepMs: number): Promise<readonly AttemptCount[]> {
    return this.#asked<readonly AttemptCount[]>((store) => store.counts(from, until, stepMs), []);
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

  /** Deletes the index file. The next round of `#run` creates a new one. */
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

/** Maximum bytes in one fetch. All records of a fetch are unpacked in one turn of the event loop. */
const FETCH_BYTES = 256 * 1024;
const WAIT_MS = 500;
/** Maximum wait for an answer, in ms. A frozen broker never answers. */
const ANSWER_MS = 10_000;

/**
 * Offsets of one partition for an index that begins at a certain time.
 * @property low offset of the first record that Kafka still has
 * @property from offset of the first record of that time or later
 * @property end end of the partition
 */
interface IndexedRange {
  readonly partition: number;
  readonly low: number;
  readonly from: number;
  readonly end: number;
}

/** Reads the topic `relay.delivery-attempts` for the index. */
export class AttemptTopic {
  readonly topic: string;

  constructor(
    private readonly admin: KeptAdmin,
    private readonly fetcher: Pick<LogFetcher, 'fetch' | 'topicIds' | 'close'>,
    topicPrefix: string,
  ) {
    this.topic = deliveryAttemptsTopic(topicPrefix);
  }

  /**
   * Returns a name for the log: the id of the cluster, the topic's name and, if the brokers have topic ids, the topic's id.
   * If the topic is deleted and created again, it has another id, so the name is another one.
   */
  async name(): Promise<string> {
    const { clusterId } = await this.admin.ask((admin) => admin.describeCluster());
    const ids = await this.fetcher.topicIds([this.topic]);
    if (!ids.has(this.topic)) throw new Error(`Kafka has no topic ${this.topic} at the moment`);
    return [clusterId, this.topic, ids.get(this.topic)].join(' ').trim();
  }

  async bounds(since: number): Promise<IndexedRange[]> {
    return this.admin.ask(async (admin) => {
      const lows = new Map(
        (await admin.fetchTopicOffsets(this.topic)).map(({ partition, low }) => [partition, Number(low)]),
      );
      const ranges = await rangesWithin(admin, this.topic, { since, until: undefined });
      return ranges.map(({ partition, from, end }) => ({ partition, from, end, low: lows.get(partition) ?? from }));
    });
  }

  fetch(from: ReadonlyMap<number, number>): Promise<FetchedPart[]> {
    const bounds = { maxBytes: FETCH_BYTES, waitMs: WAIT_MS };
    return answeredWithin(ANSWER_MS, this.fetcher.fetch(this.topic, from, bounds));
  }

  /** Returns the record at this offset; undefined if the log has no record there. */
  async at(partition: number, offset: number): Promise<LogRecord | undefined> {
    const asked = this.fetcher.fetch(this.topic, new Map([[partition, offset]]), { maxBytes: 1, waitMs: 0 });
    const [part] = await answeredWithin(ANSWER_MS, asked);
    return part?.records.find((record) => record.offset === offset);
  }

  close(): Promise<void> {
    return this.fetcher.close();
  }
}

/** How far the index has read the log. */
export interface IndexState {
  /** Whether the index reached the end of the log within the last 5 s. */
  readonly isCurrent: boolean;
  /** Number of records that are not indexed yet, as of the last fetches. */
  readonly lag: number;
}

/**
 * The index counts as current for this long after it has reached the end of the log. New records arrive all the time, so it
 * is almost never exactly at the end.
 */
const CURRENT_MS = 5_000;
const TRIM_EVERY_MS = 10_000;
/** Interval in ms of the check for new partitions, and for a topic that was deleted and created again. */
const LOOK_EVERY_MS = 30_000;

/** The log in Kafka is not the log that was indexed. */
export class AnotherLog extends Error {
  override readonly name = 'AnotherLog';
}

/** Reads the log of attempts into a store, from the stored positions to the end, and then waits for new records. */
export class AttemptFollower {
  readonly #positions = new Map<number, Position>();
  readonly #lags = new Map<number, number>();
  #reachedAt = -Infinity;
  #trimmedAt = -Infinity;
  #lookedAt = -Infinity;

  constructor(
    private readonly log: Pick<AttemptTopic, 'name' | 'bounds' | 'fetch' | 'at'>,
    private readonly store: AttemptStore,
    private readonly places: WebhookPlaces,
    private readonly windowMs: number,
  ) {}

  get state(): IndexState {
    const lag = [...this.#lags.values()].reduce((sum, each) => sum + each, 0);
    return { lag, isCurrent: performance.now() - this.#reachedAt < CURRENT_MS };
  }

  /**
   * Reads the log until `isEnding` returns true.
   * @param name name of the log, read before the store was opened
   * @throws AnotherLog if the log is no longer the one that was indexed; errors of Kafka and of the index file
   */
  async follow(name: string, isEnding: () => boolean): Promise<void> {
    for (const [partition, position] of await this.store.positions()) this.#positions.set(partition, position);
    while (!isEnding()) {
      const now = performance.now();
      if (now - this.#lookedAt > LOOK_EVERY_MS) await this.#look(name);
      if (now - this.#trimmedAt > TRIM_EVERY_MS) {
        await this.store.trim(Date.now() - this.windowMs);
        this.#trimmedAt = now;
      }
      await this.#step();
    }
  }

  async #look(name: string): Promise<void> {
    if ((await this.log.name()) !== name) throw new AnotherLog('the topic was made anew');
    const since = Date.now() - this.windowMs;
    for (const bounds of await this.log.bounds(since)) await this.#lookAt(bounds, since);
    this.#lookedAt = performance.now();
  }

  async #lookAt({ partition, low, from, end }: IndexedRange, since: number): Promise<void> {
    const known = this.#positions.get(partition);
    if (known !== undefined && known.next > end) throw new AnotherLog(`partition ${partition} is shorter than it was`);
    const { last } = known ?? {};
    if (last !== undefined && last.offset >= low && last.offset < end) {
      const record = await this.log.at(partition, last.offset);
      if (record !== undefined && record.timestamp !== last.timestamp)
        throw new AnotherLog(`partition ${partition} has other records than it had`);
    }
    if (known !== undefined && known.next >= low) {
      this.#lags.set(partition, end - known.next);
      return;
    }
    // The index did not know this partition, or Kafka has deleted records that were not indexed yet.
    if (known === undefined) await this.store.missingBefore(since);
    const isCut = known !== undefined || (from === low && low > 0);
    const first = isCut && from < end ? await this.log.at(partition, from) : undefined;
    if (isCut) await this.store.missingBefore(first?.timestamp ?? Date.now());
    this.#positions.set(partition, { next: from });
    this.#lags.set(partition, end - from);
  }

  async #step(): Promise<void> {
    if (this.#positions.size === 0) {
      await delay(CURRENT_MS / 5);
      return;
    }
    const parts = await this.log.fetch(new Map([...this.#positions].map(([partition, { next }]) => [partition, next])));
    const moved = parts.filter(({ partition, next }) => next > (this.#positions.get(partition)?.next ?? Infinity));
    const attempts = moved.flatMap(({ records }) => records.flatMap(({ value }) => attemptsIn(value)));
    const placed = await this.places.of(attempts);
    const positions = new Map(moved.map((part) => [part.partition, this.#positionAfter(part)]));
    if (positions.size > 0) await this.store.add(placed, positions);
    for (const [partition, position] of positions) this.#positions.set(partition, position);
    for (const { partition, next, end } of parts) this.#lags.set(partition, Math.max(0, end - next));
    if ([...this.#lags.values()].every((lag) => lag === 0)) this.#reachedAt = performance.now();
  }

  #positionAfter({ partition, records, next }: FetchedPart): Position {
    const { offset, timestamp } = records.at(-1) ?? {};
    const isEmpty = offset === undefined || timestamp === undefined;
    return { next, last: isEmpty ? this.#positions.get(partition)?.last : { offset, timestamp } };
  }
}

/** Returns the attempt in a record; none if the record is not an attempt, as another producer may have written it. */
function attemptsIn(value: Buffer | null): IndexedAttempt[] {
  if (value === null) return [];
  try {
    const read = AttemptRecord.safeParse(JSON.parse(value.toString('utf8')));
    return read.success ? [read.data] : [];
  } catch {
    return [];
  }
}

/** Finds the partner and origin of a webhook. */
export interface PlacedWebhooks {
  find(id: string): { readonly partnerId: string; readonly origin: string } | undefined;
  refresh(): Promise<void>;
}

const REFRESH_MS = 1_000;

/** Adds the host of the endpoint to each attempt, and the partner if the attempt's record does not name the partner. */
export class WebhookPlaces {
  #refreshedAt = -Infinity;

  constructor(private readonly webhooks: PlacedWebhooks) {}

  /**
   * Returns the attempts with partner and host. An attempt stays unchanged if its webhook was deleted or Redis cannot be
   * read.
   */
  async of(attempts: readonly IndexedAttempt[]): Promise<IndexedAttempt[]> {
    const isStale = attempts.length > 0 && performance.now() - this.#refreshedAt > REFRESH_MS;
    if (isStale) {
      this.#refreshedAt = performance.now();
      await this.webhooks.refresh().catch(() => undefined);
    }
    return attempts.map((attempt) => {
      const webhook = this.webhooks.find(attempt.webhookId);
      if (webhook === undefined) return attempt;
      return {
        ...attempt,
        partnerId: attempt.partnerId ?? webhook.partnerId,
        host: URL.parse(webhook.origin)?.hostname,
      };
    });
  }
}
