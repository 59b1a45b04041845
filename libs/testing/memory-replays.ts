import { type LogPartition, rangeKeyPrefix, readRangeKey } from '@relay/progress';
import type { NewReplay, ReplayPart, ReplayRange } from '@relay/replays';
import { keyOf, nothingIn, type MemoryState } from './memory-state.js';

const SERIES = 1_000;
const NOTHING_DONE = { done: 0, failed: 0 };

/** Replays in memory: what the scripts of the Redis adapter do with ranges and orders; nothing of their progress is shown. */
export class MemoryReplays {
  #series = 0;
  readonly #keys = new Map<string, string>();

  /** @param shards several: the order is in `global` alone, and what of it was taken up in each of them */
  constructor(
    private readonly global: MemoryState,
    private readonly shards: readonly MemoryState[] = [global],
  ) {}

  async create({ id, webhookId, status }: NewReplay, ranges: readonly ReplayRange[]): Promise<string | undefined> {
    const running = [...this.global.now.replays].find((key) => readRangeKey(key).webhookId === webhookId);
    if (running !== undefined) return this.#idOf(running);
    const key = `${rangeKeyPrefix(status)}${webhookId}/${(this.#series += SERIES)}`;
    this.#keys.set(id, key);
    const wanted = ranges.filter(({ from, end }) => from < end);
    if (wanted.length > 0) this.#order(key, wanted);
    return undefined;
  }

  #order(key: string, wanted: readonly ReplayRange[]): void {
    const parts = new Map(
      wanted.map(({ topic, partition, from, end }) => [`${topic}/${partition}`, [{ from, to: end }]] as const),
    );
    const isOne = this.#isOne;
    this.global.write(({ replays, orders, parking }) => {
      replays.add(key);
      orders.set(key, parts);
      if (!isOne) return;
      for (const [name, ranges] of parts) {
        const known = parking.get(name) ?? nothingIn();
        known.ranges.set(key, ranges);
        known.replays.set(key, NOTHING_DONE);
        parking.set(name, known);
      }
    });
  }

  get #isOne(): boolean {
    return this.shards.length === 1;
  }

  keyOf(id: string): string | undefined {
    return this.#keys.get(id);
  }

  #idOf(wanted: string): string | undefined {
    return [...this.#keys].find(([, key]) => key === wanted)?.[0];
  }

  async cancel(id: string): Promise<boolean> {
    const key = this.#keys.get(id) ?? '';
    if (!this.global.now.replays.has(key)) return false;
    this.global.write(({ replays }) => replays.delete(key));
    return true;
  }

  async orders(): Promise<{ readonly keys: ReadonlySet<string>; readonly paused: ReadonlySet<string> }> {
    return { keys: new Set(this.global.now.replays), paused: new Set() };
  }

  async ended(): Promise<ReadonlyMap<string, string>> {
    return new Map([...this.global.now.ended].map((key) => [key, this.#idOf(key) ?? '']));
  }

  async endDone(keys: readonly string[]): Promise<void> {
    if (this.#isOne) return;
    for (const key of keys.filter((each) => this.#isDone(each)))
      this.global.write(({ replays, ended }) => {
        if (replays.delete(key)) ended.add(key);
      });
  }

  #isDone(key: string): boolean {
    const names = [...(this.global.now.orders.get(key)?.keys() ?? [])];
    const isEnded = ({ now }: MemoryState, name: string): boolean => now.parking.get(name)?.ended.has(key) === true;
    return this.shards.every((state, shard) => names.every((name) => isEnded(state, `${name}/${shard}`)));
  }

  async resumeEnded(key: string): Promise<boolean> {
    return this.global.write(({ replays, ended }) => {
      if (ended.delete(key)) replays.add(key);
      return replays.has(key);
    });
  }

  async rangesOf(at: LogPartition, keys: readonly string[]): Promise<Map<string, ReplayPart>> {
    const name = `${at.topic}/${at.partition}`;
    const parked = this.shards[at.shard ?? 0]?.now.parking.get(keyOf(at));
    return new Map(
      keys.flatMap((key) => {
        const [ranges, counts] = [parked?.ranges.get(key), parked?.replays.get(key)];
        if (ranges !== undefined && counts !== undefined) return [[key, { ranges: [...ranges], counts }]];
        if (this.#isOne) return [];
        const left = parked?.ended.has(key) === true ? [] : (this.global.now.orders.get(key)?.get(name) ?? []);
        return [[key, { ranges: left, counts: NOTHING_DONE }]];
      }),
    );
  }
}
