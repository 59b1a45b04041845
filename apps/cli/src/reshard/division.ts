import { isReplay, type LogPartition, type ParkedRange } from '@relay/progress';
import { differenceOf, endOf, intersectionOf, isIn, rangeOf, unionOf } from './ranges.js';

/** Of one key in one partition of a new shard: beyond it the union is taken, and some records are delivered once more. */
const MOST_RANGES = 500;

interface Disputed {
  /** By old shard. */
  readonly old: readonly (readonly ParkedRange[])[];
  readonly union: readonly ParkedRange[];
  /** Offsets at which only some of the old shards have it, as far as any has read. */
  readonly disputed: readonly ParkedRange[];
  /** By new shard: from one of its records that wait to another, without one between that does not. */
  readonly runs: { from: number; to: number }[][];
  readonly isRunning: boolean[];
}

/**
 * Divides the ranges of one partition of the log. A range of an old shard is of its own records. Where the old shards differ, an offset
 * waits in the new shard of its record only if it waits in the old one: otherwise a webhook would get again what it got.
 */
export class Division {
  readonly #keys = new Map<string, Disputed>();

  /** @param readTo no old shard has handed out a record from here on: what waits there may wait in all */
  constructor(
    readonly at: LogPartition,
    private readonly readTo: number,
    private readonly shards: number,
  ) {}

  /** @param old ranges of a key by old shard */
  add(key: string, old: readonly (readonly ParkedRange[])[]): void {
    const union = unionOf(old.flat());
    const [first = [], ...others] = old;
    const agreed = others.reduce<readonly ParkedRange[]>(intersectionOf, unionOf(first));
    const disputed = intersectionOf(differenceOf(union, agreed), [rangeOf(0, this.readTo)]);
    const runs = Array.from({ length: this.shards }, () => []);
    this.#keys.set(key, { old, union, disputed, runs, isRunning: runs.map(() => false) });
  }

  /** How many keys wait at no record of the log any more: Kafka deleted what waited. Replays, which end by themselves, do not count. */
  get vanished(): number {
    return [...this.#keys]
      .filter(([key, { union }]) => !isReplay(key) && union.length > 0)
      .filter(([key]) => this.of(key).every((ranges) => ranges.length === 0)).length;
  }

  get keys(): IterableIterator<string> {
    return this.#keys.keys();
  }

  /** The offsets whose records must be read; undefined when the old shards agree. */
  get disputed(): { readonly from: number; readonly end: number } | undefined {
    const all = [...this.#keys.values()].flatMap(({ disputed }) => disputed);
    if (all.length === 0) return undefined;
    return { from: Math.min(...all.map(({ from }) => from)), end: Math.max(...all.map(endOf)) };
  }

  /** A record of this partition, in order. @param shards its old and its new one */
  take(offset: number, [from, to]: readonly [number, number]): void {
    for (const { old, disputed, runs, isRunning } of this.#keys.values()) {
      if (!isIn(disputed, offset)) continue;
      const own = runs[to] ?? [];
      const last = own.at(-1);
      const isWaiting = isIn(old[from] ?? [], offset);
      if (isWaiting && isRunning[to] === true && last !== undefined) last.to = offset + 1;
      else if (isWaiting && own.length <= MOST_RANGES) own.push({ from: offset, to: offset + 1 });
      isRunning[to] = isWaiting;
    }
  }

  /** The ranges of a key by new shard. */
  of(key: string): (readonly ParkedRange[])[] {
    const found = this.#keys.get(key);
    if (found === undefined) return Array.from({ length: this.shards }, () => []);
    const { union, disputed, runs } = found;
    const sure = differenceOf(union, disputed);
    return runs.map((own) =>
      disputed.length === 0 || own.length > MOST_RANGES ? union : unionOf([...intersectionOf(own, union), ...sure]),
    );
  }
}
