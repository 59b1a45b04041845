/** A generation of seen marks in one shard (`libs/dedupe`, `seen-mark.script.ts`). */
export interface Generation {
  readonly number: number;
  /** It has 2^bits buckets. */
  readonly bits: number;
  /** Epoch seconds. */
  readonly expires: number;
  readonly ids: number;
}

/** Generations of an old shard, newest first, and when the newest was opened, epoch seconds. */
export interface OldMarks {
  readonly generations: readonly Generation[];
  readonly openedAt: number;
}

/** A generation of every new shard, and the old ones that it takes up: of each the number of its old shard. */
export interface NewGeneration extends Generation {
  readonly takes: readonly (readonly [shard: number, old: Generation])[];
}

const DAY_S = 86_400;
const FIRST_BITS = 8;
/** Ids of a bucket on average: a hash of up to 128 is a listpack, which an id needs to cost little. */
const AIM = 48;

/**
 * The generations of new shards, newest first. Those that expire within a day of one another become one, which expires with the last
 * of them: each costs every look-up a read, and 16 shards would have 16 times as many. A mark lives up to a day longer for it.
 */
export function newGenerations(old: readonly OldMarks[], shards: number): NewGeneration[] {
  const all = old
    .flatMap(({ generations }, shard) => generations.map((generation) => [shard, generation] as const))
    .toSorted(([, one], [, other]) => other.expires - one.expires);
  const groups: (typeof all)[] = [];
  for (const each of all) {
    const first = groups.at(-1)?.[0];
    if (first !== undefined && first[1].expires - each[1].expires < DAY_S) groups.at(-1)?.push(each);
    else groups.push([each]);
  }
  return groups.map((takes, index) => {
    const ids = Math.ceil(takes.reduce((sum, [, generation]) => sum + generation.ids, 0) / shards);
    const bits = Math.max(FIRST_BITS, Math.ceil(Math.log2(Math.max(1, ids / AIM))));
    return { number: groups.length - index, bits, expires: takes[0]?.[1].expires ?? 0, ids, takes };
  });
}

/**
 * When the newest generation of new shards counts as opened, epoch seconds: with that of the old shard that opened its own first, so
 * that no mark is written into it so late that it would expire within the window.
 */
export const openedAt = (old: readonly OldMarks[]): number =>
  Math.min(...old.filter(({ generations }) => generations.length > 0).map((marks) => marks.openedAt));

/** The bucket of an id of 16 bytes. */
export function bucketOf(id: Buffer, bits: number): number {
  let folded = id.readUInt32BE(0) ^ id.readUInt32BE(4) ^ id.readUInt32BE(8) ^ id.readUInt32BE(12);
  folded ^= folded >>> 16;
  return (folded >>> 0) % 2 ** bits;
}
