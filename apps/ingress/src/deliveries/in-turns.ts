import { setImmediate as turn } from 'node:timers/promises';

/** Reading so many envelopes takes a few milliseconds, in which nobody else is answered. */
const ITEMS_PER_TURN = 25;

/** The results of `work`, begun with the items in their order, so many in one turn of the event loop. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Promise<Result>[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % ITEMS_PER_TURN === 0) await turn();
    const result = work(item);
    // `Promise.all` rejects with it, but perhaps a turn later.
    result.catch(() => undefined);
    results.push(result);
  }
  return Promise.all(results);
}
