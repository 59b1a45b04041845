import { packed, wholeSeconds, type SeenEntry } from '@relay/dedupe';
import {
  defineScript,
  readRegistryVersion,
  registryVersionKeys,
  runScript,
  type Shard,
  type Shards,
} from '@relay/redis';
import type { Redis } from 'ioredis';
import { isReplay, rangesText, readRanges, readReplay, type Parking, type ParkingWrite } from './parking.js';
import {
  droppedKey,
  knownKey,
  parkedKey,
  parkingKey,
  partialKey,
  progressKey,
  recoveryKey,
  REPLAY_KEPT_S,
  replaysKey,
} from './progress-keys.js';
import {
  PartitionProgress,
  type Flush,
  type LogPartition,
  type LookUp,
  type LookUpResult,
  type OwnedPosition,
  type Ownership,
  type ReadTo,
} from './partition-progress.port.js';
import { flushLua, lookUpLua, ownLua, releaseLua, rememberLua, type FlushRest } from './partition-progress.script.js';

const own = defineScript('progress-own', ownLua);
const release = defineScript('progress-release', releaseLua);
const remember = defineScript('progress-remember', rememberLua);
const lookUp = defineScript('progress-look-up', lookUpLua);
const flush = defineScript('progress-flush', flushLua);

const RESULTS: Readonly<Record<string, LookUpResult>> = { o: 'open', d: 'duplicate', c: 'conflict' };

/**
 * Maximum number of ids in one call of a script, unless a single chunk or flush has more. A script blocks Redis while it
 * runs.
 */
const MAX_LOOKED_UP = 400;
const MAX_FLUSHED = 1_000;

interface PartitionFlush {
  readonly at: LogPartition;
  readonly write: Flush;
}

/** Progress in Redis, stored in the same shard as the seen marks and jobs of its envelopes. */
export class RedisPartitionProgress extends PartitionProgress {
  readonly #window: number;
  readonly #lookUps = new CallBatch<SeenEntry, LookUp>((entries) => this.#lookUp(entries), MAX_LOOKED_UP);
  readonly #flushes = new CallBatch<PartitionFlush, readonly number[]>((all) => this.#flush(all), MAX_FLUSHED);

  /**
   * @param agreed resolves once it is known that jobs and progress are stored on the same server, so that both go back
   *   together if the server loses its latest writes
   */
  constructor(
    private readonly shard: Shard,
    dedupeWindowMs: number,
    private readonly agreed: () => Promise<void> = async () => undefined,
  ) {
    super();
    this.#window = wholeSeconds(dedupeWindowMs);
  }

  async own(at: LogPartition, token: string, how: Ownership): Promise<OwnedPosition | 'owned-elsewhere' | undefined> {
    await this.agreed();
    const { start, take, claim = '' } = how;
    const args = [token, start ?? '', take ? 1 : 0, claim];
    const reply = (await runScript(
      this.shard.redis,
      own,
      [progressKey(this.shard, at), recoveryKey(this.shard)],
      args,
    )) as string[] | 'owned-elsewhere';
    if (reply === 'owned-elsewhere') return reply;
    const [highWater, sequence, read = ''] = reply;
    if (highWater === undefined) return undefined;
    return { highWater: Number(highWater), sequence: Number(sequence), read: readOf(read) };
  }

  /** Returns the owner of each partition: '' if it has none, undefined if the store has no progress of the partition. */
  async owners(partitions: readonly LogPartition[]): Promise<(string | undefined)[]> {
    const found = await Promise.all(
      partitions.map((at) => this.shard.redis.hmget(progressKey(this.shard, at), 'highWater', 'owner')),
    );
    return found.map(([highWater, owner]) => (highWater == null ? undefined : (owner ?? '')));
  }

  async release(at: LogPartition, token: string): Promise<void> {
    await runScript(this.shard.redis, release, [progressKey(this.shard, at)], [token]);
  }

  async rememberKnown(read: readonly LogPartition[]): Promise<boolean> {
    const hashes = read.map((at) => progressKey(this.shard, at));
    const keys = [knownKey(this.shard), recoveryKey(this.shard), ...hashes];
    return (await runScript(this.shard.redis, remember, keys, [])) === 1;
  }

  async wasKnown(): Promise<boolean> {
    return (await this.shard.redis.exists(knownKey(this.shard))) === 1;
  }

  /** Chunks that are looked up in one turn of the event loop share a round trip, for example the partitions of one fetch. */
  async lookUp(_at: LogPartition, entries: readonly SeenEntry[]): Promise<LookUp> {
    const { answer, from } = await this.#lookUps.add(entries, entries.length);
    return { ...answer, results: answer.results.slice(from, from + entries.length) };
  }

  async #lookUp(entries: readonly SeenEntry[]): Promise<LookUp> {
    const keys = [this.shard.key('seen'), ...(this.shard.isGlobal ? registryVersionKeys : [])];
    const [registryVersion, letters] = (await runScript(this.shard.redis, lookUp, keys, [packed(entries)])) as [
      number,
      string,
    ];
    return { registryVersion, results: Array.from(letters, (letter) => RESULTS[letter] as LookUpResult) };
  }

  /** Partitions that are flushed in one turn of the event loop share one call of the script. */
  async flush(at: LogPartition, write: Flush): Promise<boolean> {
    const { answer, from } = await this.#flushes.add([{ at, write }], 1 + write.settled.length + write.partial.length);
    return answer[from] === 1;
  }

  async #flush(flushes: readonly PartitionFlush[]): Promise<readonly number[]> {
    const keys = [this.shard.key('seen'), parkedKey(this.shard), replaysKey(this.shard)];
    const args: (string | number | Buffer)[] = [this.#window, this.shard.isGlobal ? '' : REPLAY_KEPT_S];
    for (const { at, write } of flushes) {
      const { token, confirmed, sent, next, read, settled } = write;
      keys.push(...[progressKey, partialKey, parkingKey, droppedKey].map((keyOf) => keyOf(this.shard, at)));
      args.push(token);
      for (const position of [confirmed, sent, next]) args.push(position?.highWater ?? '', position?.sequence ?? '');
      args.push(packed(settled), restOf(at, write), readText(read));
    }
    return (await runScript(this.shard.redis, flush, keys, args)) as number[];
  }

  async parking(at: LogPartition): Promise<Parking> {
    const [texts, dropped, next] = await Promise.all([
      this.shard.redis.hgetall(parkingKey(this.shard, at)),
      this.shard.redis.zrange(droppedKey(this.shard, at), '0', '-1'),
      this.shard.redis.hget(progressKey(this.shard, at), 'next'),
    ]);
    const ranges = new Map(Object.entries(texts).map(([key, text]) => [key, readRanges(text)]));
    const replays = Object.entries(texts).filter(([key]) => isReplay(key));
    return {
      ranges,
      replays: new Map(replays.map(([key, text]) => [key, readReplay(text).counts])),
      dropped: dropped.map(Number),
      next: Number(next ?? 0),
    };
  }

  async partials(at: LogPartition, ids: readonly string[]): Promise<Map<string, Set<string>>> {
    if (ids.length === 0) return new Map();
    const texts = await this.shard.redis.hmget(partialKey(this.shard, at), ...ids);
    return new Map(
      ids.map((id, index) => [id, new Set((texts[index] ?? '').split(',').filter((part) => part !== ''))]),
    );
  }
}

const readText = (read: ReadTo | undefined): string =>
  read === undefined ? '' : [read.next, read.newest, ...(read.topicIds ?? [])].join(' ');

function readOf(text: string): ReadTo | undefined {
  const [next = '', newest = '', ...topicIds] = text.split(' ');
  const of = topicIds.length === 0 ? {} : { topicIds };
  return text === '' ? undefined : { next: Number(next), newest: Number(newest), ...of };
}

function restOf(at: LogPartition, { partial, whole, parking }: Flush): string {
  if (partial.length === 0 && whole.length === 0 && parking === undefined) return '';
  const rest: FlushRest = {
    partial: partial.map(({ id, webhookIds }) => [id, webhookIds.join(',')]),
    whole,
    ...(parking === undefined ? {} : { parking: parkingText(at, parking) }),
  };
  return JSON.stringify(rest);
}

const parkingText = (at: LogPartition, write: ParkingWrite): NonNullable<FlushRest['parking']> => ({
  name: `${at.topic}/${at.partition}`,
  next: String(write.next),
  ...(write.keptFrom === undefined ? {} : { keptFrom: String(write.keptFrom) }),
  ...(write.lostFrom === undefined ? {} : { lostFrom: String(write.lostFrom) }),
  changed: [...write.changed].map(([key, ranges]) => [key, rangesText(ranges, write.replays.get(key))]),
  dropped: write.dropped.map(String),
  ...(write.notices === undefined || write.notices.length === 0 ? {} : { notices: write.notices }),
});

/**
 * Progress of a deployment with several shards. Each shard keeps the progress of its own part of each partition. If a shard
 * loses its latest writes, only its own progress goes back.
 */
export class ShardedPartitionProgress extends PartitionProgress {
  readonly #all: readonly PartitionProgress[];
  readonly #versions = new CallBatch<never, number>(() => readRegistryVersion(this.global), 0);

  /**
   * @param global connection for the keys that belong to no shard
   * @param agreed resolves once it is known that the jobs and the progress of this shard are stored on the same server
   */
  constructor(
    shards: Shards,
    private readonly global: Pick<Redis, 'mget'>,
    dedupeWindowMs: number,
    agreed: (shard: number) => Promise<void>,
  ) {
    super();
    this.#all = shards.all.map(
      (shard, number) => new RedisPartitionProgress(shard, dedupeWindowMs, () => agreed(number)),
    );
  }

  own(at: LogPartition, token: string, how: Ownership): Promise<OwnedPosition | 'owned-elsewhere' | undefined> {
    return this.#of(at).own(at, token, how);
  }

  release(at: LogPartition, token: string): Promise<void> {
    return this.#of(at).release(at, token);
  }

  async rememberKnown(read: readonly LogPartition[]): Promise<boolean> {
    const [first] = read;
    return first !== undefined && this.#of(first).rememberKnown(read);
  }

  wasKnown(at: LogPartition): Promise<boolean> {
    return this.#of(at).wasKnown(at);
  }

  /**
   * Looks up the ids, and reads the version of the registry. The records were fetched before, so a view of this version has
   * everything that was registered before they were sent.
   */
  async lookUp(at: LogPartition, entries: readonly SeenEntry[]): Promise<LookUp> {
    const [{ results }, { answer: registryVersion }] = await Promise.all([
      this.#of(at).lookUp(at, entries),
      this.#versions.add([], 0),
    ]);
    return { results, registryVersion };
  }

  flush(at: LogPartition, write: Flush): Promise<boolean> {
    return this.#of(at).flush(at, write);
  }

  parking(at: LogPartition): Promise<Parking> {
    return this.#of(at).parking(at);
  }

  partials(at: LogPartition, ids: readonly string[]): Promise<Map<string, Set<string>>> {
    return this.#of(at).partials(at, ids);
  }

  #of({ topic, partition, shard = 0 }: LogPartition): PartitionProgress {
    const found = this.#all[shard];
    if (found === undefined) throw new RangeError(`${topic}/${partition} is of shard ${shard} of ${this.#all.length}`);
    return found;
  }
}

interface Open<Item, Answer> {
  readonly items: Item[];
  size: number;
  readonly answer: Promise<Answer>;
}

/** Combines the calls that are made in one turn of the event loop into as few batches as the maximum size allows. */
class CallBatch<Item, Answer> {
  #open: Open<Item, Answer> | undefined;

  /** @param maxSize maximum size of a batch, unless a single call is larger. A script blocks Redis while it runs. */
  constructor(
    private readonly run: (items: readonly Item[]) => Promise<Answer>,
    private readonly maxSize: number,
  ) {}

  /** @returns the answer for the whole batch, and the index of the first of these items in the batch */
  async add(items: readonly Item[], size: number): Promise<{ answer: Answer; from: number }> {
    let open = this.#open;
    if (open === undefined || open.size + size > this.maxSize) this.#open = open = this.#begin();
    open.size += size;
    const from = open.items.push(...items) - items.length;
    return { answer: await open.answer, from };
  }

  #begin(): Open<Item, Answer> {
    const items: Item[] = [];
    const answer = new Promise<void>((resolve) => {
      setImmediate(resolve);
    }).then(() => {
      if (this.#open?.items === items) this.#open = undefined;
      return this.run(items);
    });
    return { items, size: 0, answer };
  }
}
