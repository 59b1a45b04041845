import { packed, wholeSeconds, type SeenEntry } from '@relay/dedupe';
import { defineScript, registryVersionKeys, runScript, type Shard } from '@relay/redis';
import type { Parking, ParkingWrite } from './parking.js';
import { isReplay } from './range-key.js';
import { rangesText, readRanges, readReplay } from './range-text.js';
import { CallBatch } from './call-batch.js';
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

/** Maximum of ids in one script, unless one chunk or flush has more: a script blocks Redis. */
const MAX_LOOKED_UP = 400;
const MAX_FLUSHED = 1_000;

interface PartitionFlush {
  readonly at: LogPartition;
  readonly write: Flush;
}

/** Progress in Redis, in the shard of the seen marks and jobs that it counts. */
export class RedisPartitionProgress extends PartitionProgress {
  readonly #window: number;
  readonly #lookUps = new CallBatch<SeenEntry, LookUp>((entries) => this.#lookUp(entries), MAX_LOOKED_UP);
  readonly #flushes = new CallBatch<PartitionFlush, readonly number[]>((all) => this.#flush(all), MAX_FLUSHED);

  /** @param agreed resolves when jobs are stored on the same server as progress, so that both go back in time together */
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

  /** Returns the owner of each partition: '' for none, undefined if the store has no progress of it. */
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

  /** Chunks that arrive in one turn of the event loop, as the partitions of one fetch do, share a round trip. */
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

  /** The partitions that flush in one turn of the event loop share a script. */
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
