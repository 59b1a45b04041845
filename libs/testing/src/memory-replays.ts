import { type LogPartition, type ParkedRange, rangeKeyPrefix, readRangeKey, type ReplayCounts } from '@relay/progress';
import type { NewReplay, ReplayRange } from '@relay/replays';
import type { MemoryState } from './memory-state.js';

const SERIES = 1_000;
type Found = { readonly ranges: readonly ParkedRange[]; readonly counts: ReplayCounts };

/** Replays in memory: what the scripts of the Redis adapter do with ranges and orders; nothing of their progress is shown. */
export class MemoryReplays {
  #series = 0;
  readonly #keys = new Map<string, string>();

  constructor(private readonly state: MemoryState) {}

  async create({ id, webhookId, status }: NewReplay, ranges: readonly ReplayRange[]): Promise<string | undefined> {
    const running = [...this.state.now.replays].find((key) => readRangeKey(key).webhookId === webhookId);
    if (running !== undefined) return [...this.#keys].find(([, key]) => key === running)?.[0];
    const key = `${rangeKeyPrefix(status)}${webhookId}/${(this.#series += SERIES)}`;
    this.#keys.set(id, key);
    const wanted = ranges.filter(({ from, end }) => from < end);
    if (wanted.length > 0) this.#order(key, wanted);
    return undefined;
  }

  #order(key: string, wanted: readonly ReplayRange[]): void {
    this.state.write(({ replays, parking }) => {
      replays.add(key);
      for (const { topic, partition, from, end } of wanted) {
        const name = `${topic}/${partition}`;
        const known = parking.get(name) ?? {
          ranges: new Map(),
          replays: new Map(),
          dropped: new Set<number>(),
          next: 0,
        };
        known.ranges.set(key, [{ from, to: end }]);
        known.replays.set(key, { done: 0, failed: 0 });
        parking.set(name, known);
      }
    });
  }

  keyOf(id: string): string | undefined {
    return this.#keys.get(id);
  }

  async cancel(id: string): Promise<boolean> {
    const key = this.#keys.get(id) ?? '';
    if (!this.state.now.replays.has(key)) return false;
    this.state.write(({ replays }) => replays.delete(key));
    return true;
  }

  async orders(): Promise<{ readonly keys: ReadonlySet<string>; readonly paused: ReadonlySet<string> }> {
    return { keys: new Set(this.state.now.replays), paused: new Set() };
  }

  async rangesOf({ topic, partition }: LogPartition, keys: readonly string[]): Promise<Map<string, Found>> {
    const parked = this.state.now.parking.get(`${topic}/${partition}`);
    return new Map(
      keys.flatMap((key) => {
        const [ranges, counts] = [parked?.ranges.get(key), parked?.replays.get(key)];
        return ranges === undefined || counts === undefined ? [] : [[key, { ranges: [...ranges], counts }]];
      }),
    );
  }
}
