import { signal } from '@preact/signals';
import { fragmentOf, readPlace } from './place.js';

/** The place that is shown; it follows the address. */
export const place = signal(readPlace(globalThis.location?.hash ?? ''));

/** Goes to a place, as a link would. */
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
