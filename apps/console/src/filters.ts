import { type Signal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { place, refine } from '@relay/ui';

/** A filter that stands in the address: reading, typing and settling it. */
export interface Filter {
  readonly value: Signal<string>;
  readonly settled: () => void;
}

/** The filter of this name; the field and the list follow the address. Another filter begins at the first page of the list. */
export function useFilter(name: string): Filter {
  const { from: _from, before: _before, ...query } = place.value.query;
  const given = query[name] ?? '';
  const value = useMemo(() => signal(given), [given, place.value]);
  const settled = (): void => refine({ ...query, [name]: value.value });
  return { value, settled };
}
