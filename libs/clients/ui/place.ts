import { type Signal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

/** The current route, from the part of the address after `#`. */
export interface Place {
  /** Decoded segments of the path, for example `['webhooks', ID]`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** Reads the route from a fragment. An invalid fragment means the start page. */
export function readPlace(fragment: string): Place {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split('?', 2);
  if (!path.startsWith('/')) return { path: [], query: {} };
  const segments = path.split('/').filter((part) => part !== '');
  return { path: segments.map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Returns the fragment of a route, with its `#`. Empty members of the query are left out. */
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

/** The route that is shown. It follows the address after `follow` was called. */
export const place = signal(readPlace(globalThis.location?.hash ?? ''));

/** Goes to a route like a link, with a new entry in the history. */
export function go(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = fragmentOf(path, query);
}

/** Changes the query of the current route without a new entry in the history. */
export function refine(query: Readonly<Record<string, string | undefined>>): void {
  replace(fragmentOf(place.value.path, query));
}

/** Goes to a route and replaces the current entry in the history. */
export function replace(fragment: string): void {
  history.replaceState(history.state, '', fragment);
  place.value = readPlace(fragment);
}

/** State of a history entry whose route lies over the route of the entry before it. */
const OVER = 'over';

/** Opens a route over the current one, with a new entry in the history. */
export function openOver(fragment: string): void {
  history.pushState(OVER, '', fragment);
  place.value = readPlace(fragment);
}

/**
 * Closes a route that lies over the route `below`. If `openOver` has opened it in this tab, the browser goes back, so that
 * the history has the route below once. Otherwise the route below replaces it.
 */
export function closeOver(below: string): void {
  if (history.state === OVER) history.back();
  else replace(below);
}

/** Makes `place` follow the address from now on. */
export function follow(): void {
  addEventListener('hashchange', () => {
    // The skip link changes the fragment too, but its target is not a route.
    if (location.hash === '' || location.hash.startsWith('#/')) place.value = readPlace(location.hash);
  });
}

/** A filter of a list. Its value is stored in the address. */
interface Filter {
  /** The typed value. */
  readonly value: Signal<string>;
  /** Writes the typed value into the address. */
  readonly settled: () => void;
}

/**
 * Returns filters with these names. Their values come from the query of the address, and are read again whenever the address
 * changes. When a filter changes, the list starts again at its first page.
 */
export function useFilters<Name extends string>(...names: readonly Name[]): Readonly<Record<Name, Filter>> {
  const { from: _from, before: _before, cursor: _cursor, ...query } = place.value.query;
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

/** Number of rows on a page. More rows slow the browser down. */
export const PAGE = 500;

/**
 * Returns a page of a list, the number of rows before it, and the first rows of the previous and the next page.
 * @param asked number of the first row, from the address. It is checked, because a user can edit the address and the list
 *   may be shorter now.
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
