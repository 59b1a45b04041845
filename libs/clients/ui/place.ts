import { type Signal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

/** Place of the reader: the part of the address after `#`. */
export interface Place {
  /** Segments of the path, decoded: `['webhooks', ID]`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** The place that a fragment names; anything that is none is the start. */
export function readPlace(fragment: string): Place {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split('?', 2);
  if (!path.startsWith('/')) return { path: [], query: {} };
  const segments = path.split('/').filter((part) => part !== '');
  return { path: segments.map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The fragment of a place, with its `#`. Empty members of the query are left out. */
export function fragmentOf(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).flatMap(([key, value]) => (value ? [[key, value] as [string, string]] : []));
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The place that is shown; it follows the address. */
export const place = signal(readPlace(globalThis.location?.hash ?? ''));

/** Goes to a place, as a link does. */
export function go(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = fragmentOf(path, query);
}

/** Changes the query of this place without a new step of the history. */
export function refine(query: Readonly<Record<string, string | undefined>>): void {
  replace(fragmentOf(place.value.path, query));
}

/** Shows a place instead of this one in the address: the history forgets this one. */
export function replace(fragment: string): void {
  history.replaceState(null, '', fragment);
  place.value = readPlace(fragment);
}

/** Follows the address from now on. */
export function follow(): void {
  addEventListener('hashchange', () => {
    // The target of the skip link is no place.
    if (location.hash === '' || location.hash.startsWith('#/')) place.value = readPlace(location.hash);
  });
}

/** A filter of a list, which the address holds. */
interface Filter {
  /** The typed value. */
  readonly value: Signal<string>;
  /** Writes the typed value into the address. */
  readonly settled: () => void;
}

/** The filters of these names. Fields and list follow the address. A changed filter begins at the first page of the list. */
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
 * @param asked the row that it begins with, as the address names it: anybody may have written it, and the list may be shorter now
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
