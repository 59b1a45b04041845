/** Reads the entries of a sorted list behind `last`, at most so many; fewer are the last ones. */
export type SortedList<E> = (last: E | undefined, count: number) => Promise<readonly E[]>;

interface Head<E> {
  readonly read: SortedList<E>;
  entries: readonly E[];
  next: number;
  isOver: boolean;
}

/** Lists read at once. */
const AT_ONCE = 16;

/** The entries of all lists in their order. @param count of entries that are read of a list at once */
export async function* merged<E>(
  lists: readonly SortedList<E>[],
  compare: (a: E, b: E) => number,
  count: number,
): AsyncGenerator<E> {
  let heads = lists.map((read): Head<E> => ({ read, entries: [], next: 0, isOver: false }));
  for (let empty = heads; ;) {
    for (let from = 0; from < empty.length; from += AT_ONCE)
      await Promise.all(empty.slice(from, from + AT_ONCE).map((head) => refill(head, count)));
    heads = heads.filter(({ entries, next }) => next < entries.length);
    const [first, ...others] = heads;
    if (first === undefined) return;
    let newest = first;
    for (const head of others) if (compare(entryOf(head), entryOf(newest)) < 0) newest = head;
    yield entryOf(newest);
    newest.next += 1;
    empty = newest.next === newest.entries.length && !newest.isOver ? [newest] : [];
  }
}

const entryOf = <E>({ entries, next }: Head<E>): E => entries[next] as E;

async function refill<E>(head: Head<E>, count: number): Promise<void> {
  head.entries = await head.read(head.entries.at(-1), count);
  head.next = 0;
  head.isOver = head.entries.length < count;
}
