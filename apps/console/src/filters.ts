import { type Signal, useSignal } from '@preact/signals';
import { place, refine } from '@relay/ui';

/** A filter that stands in the address: reading, typing and settling it. */
export interface Filter {
  readonly value: Signal<string>;
  readonly settled: () => void;
}

/** The filter of this name; the list follows the address. */
export function useFilter(name: string): Filter {
  const value = useSignal(place.value.query[name] ?? '');
  const settled = (): void => refine({ ...place.value.query, [name]: value.value });
  return { value, settled };
}
