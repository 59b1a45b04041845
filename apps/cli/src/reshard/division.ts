import { isReplay, without, type LogPartition, type ParkedRange } from '@relay/progress';

/** Most ranges of one key in one partition of a new shard. Beyond it the key gets the union, and some records are delivered once more. */
const MOST_RANGES = 500;

/** The ranges of one key. */
interface Disputed {
  /** By old shard. */
  readonly old: readonly (readonly ParkedRange[])[];
  readonly union: readonly ParkedRange[];
  /** Offsets that only some of the old shards have, up to the highest offset that an old shard has read. */
  readonly disputed: readonly ParkedRange[];
  /** By new shard: runs of its records that wait, each from its first record to behind its last. */
  readonly runs: { from: number; to: number }[][];
  /** By new shard: whether its last record continues a run. */
  readonly isRunning: boolean[];
}

/**
 * Divides the ranges of one partition of the log. A range of an old shard counts for its own records. If the old shards differ, an
 * offset waits in the new shard of its record only if it waits in the old one: otherwise a webhook gets again what it got.
 */
export class Division {
  readonly #keys = new Map<string, Disputed>();

  /** @param readTo offset from which on no old shard has handed out a record: ranges there may wait in every shard */
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

  /** How many webhooks wait for no record of the log any more, because Kafka deleted it. Replays do not count: they end by themselves. */
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

  /** Takes the next record of this partition. @param shards numbers of its old and its new shard */
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

  /** The ranges of a key, by new shard. */
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

/** The offsets of all of these ranges, in ascending order. At most the last range is open. */
export function unionOf(ranges: readonly ParkedRange[]): ParkedRange[] {
  const union: { from: number; to?: number | undefined }[] = [];
  for (const { from, to } of ranges.toSorted((one, other) => one.from - other.from)) {
    const last = union.at(-1);
    if (last === undefined || endOf(last) < from) union.push({ from, to });
    else if (endOf({ from, to }) > endOf(last)) last.to = to;
  }
  return union;
}

export const intersectionOf = (some: readonly ParkedRange[], others: readonly ParkedRange[]): ParkedRange[] =>
  differenceOf(some, differenceOf(some, others));

export const differenceOf = (some: readonly ParkedRange[], others: readonly ParkedRange[]): ParkedRange[] =>
  unionOf(without(some, others).map((range) => rangeOf(range.from, endOf(range))));

const isIn = (ranges: readonly ParkedRange[], offset: number): boolean =>
  ranges.some((range) => offset >= range.from && offset < endOf(range));

/** Infinity for an open range. */
const endOf = ({ to }: ParkedRange): number => to ?? Infinity;

/** @param to Infinity for an open range */
const rangeOf = (from: number, to: number): ParkedRange => (to === Infinity ? { from } : { from, to });
