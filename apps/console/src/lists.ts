import { type Signal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { place, refine } from '@relay/ui';

/** A filter that stands in the address: reading, typing and settling it. */
interface Filter {
  readonly value: Signal<string>;
  readonly settled: () => void;
}

/** The filters of these names; field and list follow the address. Another filter begins at the first page of the list. */
export function useFilters<Name extends string>(...names: readonly Name[]): Readonly<Record<Name, Filter>> {
  const { from: _from, before: _before, ...query } = place.value.query;
  const filters = useMemo(
    () =>
      names.map((name) => {
        const value = signal(query[name] ?? '');
        return [name, { value, settled: () => refine({ ...query, [name]: value.value }) }];
      }),
    [place.value],
  );
  return Object.fromEntries(filters) as Record<Name, Filter>;
}

/** Rows of a page; more rows slow the browser down. */
export const PAGE = 500;

/**
 * A page of a list, how many rows are before it, and where the pages before and after it begin.
 * @param asked where it begins, as it stands in the address: anybody may have written it, and the list may be shorter now
 */
export function pageFrom<Row>(all: readonly Row[], asked: string | undefined) {
  const wanted = Number(asked ?? 0);
  const from = Number.isInteger(wanted) && wanted >= 0 && wanted < all.length ? wanted : 0;
  const next = from + PAGE;
  return {
    rows: all.slice(from, next),
    from,
    earlier: from === 0 ? undefined : Math.max(0, from - PAGE),
    later: next < all.length ? next : undefined,
  };
}
