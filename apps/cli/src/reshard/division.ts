import { isReplay, without, type LogPartition, type ParkedRange } from '@relay/progress';

/**
 * Maximum number of ranges of a key in one partition of a new shard. The division can split the ranges of a key into many
 * short ones, because each disputed record is assigned by itself. If a key gets more ranges than this, it gets the undivided
 * union of its old ranges instead. The union also contains records that were already delivered, so these are delivered once
 * more.
 */
const MOST_RANGES = 500;

/** The ranges of one key. A key stands for a parked webhook or a replay. */
interface Disputed {
  /** The ranges in each old shard. */
  readonly old: readonly (readonly ParkedRange[])[];
  readonly union: readonly ParkedRange[];
  /** Offsets that only some of the old shards have in their ranges, up to the highest offset that an old shard has read. */
  readonly disputed: readonly ParkedRange[];
  /** For each new shard, the runs of its records that wait. `to` is the offset after the last record of a run. */
  readonly runs: { from: number; to: number }[][];
  /** For each new shard, whether its last record waits. If so, the next record that waits extends the same run. */
  readonly isRunning: boolean[];
}

/**
 * Divides the ranges of one partition of the log among the new shards. The ranges of an old shard are valid only for the
 * records of that shard. If the old shards disagree about an offset, only the old shard of its record decides: the record
 * waits in its new shard if it waited in its old shard. Otherwise a webhook would get a record again that it has already
 * got.
 */
export class Division {
  readonly #keys = new Map<string, Disputed>();

  /**
   * @param readTo no old shard has dispatched a record at or above this offset, so ranges there may go to every new shard
   */
  constructor(
    readonly at: LogPartition,
    private readonly readTo: number,
    private readonly shards: number,
  ) {}

  /** @param old the ranges of the key in each old shard */
  add(key: string, old: readonly (readonly ParkedRange[])[]): void {
    const union = unionOf(old.flat());
    const [first = [], ...others] = old;
    const agreed = others.reduce<readonly ParkedRange[]>(intersectionOf, unionOf(first));
    const disputed = intersectionOf(differenceOf(union, agreed), [rangeOf(0, this.readTo)]);
    const runs = Array.from({ length: this.shards }, () => []);
    this.#keys.set(key, { old, union, disputed, runs, isRunning: runs.map(() => false) });
  }

  /**
   * The number of webhooks that wait for no record any more, because Kafka deleted the records. Replays are not included,
   * because they end by themselves.
   */
  get vanished(): number {
    return [...this.#keys]
      .filter(([key, { union }]) => !isReplay(key) && union.length > 0)
      .filter(([key]) => this.of(key).every((ranges) => ranges.length === 0)).length;
  }

  get keys(): IterableIterator<string> {
    return this.#keys.keys();
  }

  /** The range of offsets whose records must be read; undefined if the old shards agree. */
  get disputed(): { readonly from: number; readonly end: number } | undefined {
    const all = [...this.#keys.values()].flatMap(({ disputed }) => disputed);
    if (all.length === 0) return undefined;
    return { from: Math.min(...all.map(({ from }) => from)), end: Math.max(...all.map(endOf)) };
  }

  /** Adds the next record of this partition. @param shards the numbers of the old and the new shard of the record */
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

  /** The ranges of a key in each new shard. */
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

/** Returns the offsets of all these ranges as ranges in ascending order. Only the last range can be open. */
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

/** Returns the end of a range; Infinity if the range is open. */
const endOf = ({ to }: ParkedRange): number => to ?? Infinity;

/** @param to the end of the range; Infinity for an open range */
const rangeOf = (from: number, to: number): ParkedRange => (to === Infinity ? { from } : { from, to });
