import type { RedisRepeatCounts, RepeatCount } from './redis-repeat-counts.adapter.js';

/** Ids that wait to be written; further ones are not counted. */
const MOST_WAITING = 5_000;
const BATCH = 500;
const GATHER_MS = 200;

/** Gathers ids that came again and writes their counts, beside the path. What the store does not take is not counted. */
export class RepeatCounter {
  readonly #waiting = new Map<string, RepeatCount>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly store: Pick<RedisRepeatCounts, 'add'>) {}

  count(id: string, kind: 'duplicate' | 'conflict'): void {
    const known = this.#waiting.get(id);
    if (known === undefined && this.#waiting.size >= MOST_WAITING) return;
    const { duplicates = 0, conflicts = 0 } = known ?? {};
    this.#waiting.set(id, {
      duplicates: duplicates + Number(kind === 'duplicate'),
      conflicts: conflicts + Number(kind === 'conflict'),
    });
    this.#timer ??= setTimeout(() => void this.close(), GATHER_MS).unref();
  }

  /** Writes what waits. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counts = [...this.#waiting];
    this.#waiting.clear();
    for (let from = 0; from < counts.length; from += BATCH)
      await this.store.add(new Map(counts.slice(from, from + BATCH))).catch(() => undefined);
  }
}
