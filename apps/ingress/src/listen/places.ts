import type { EventType } from '@relay/events';
import type { LogPlace } from '@relay/kafka';
import type { Listener } from './listener.js';

/** Those behind within so many records of each other are read for together, from the place of the last. */
const TOGETHER = 500;

/** A place of the log, and the type of the topic. */
export interface Place extends LogPlace {
  readonly type: EventType;
}

type Reader = Pick<Listener, 'nextOf'>;

/** Records that it has not passed, up to these places. */
export const lagOf = (listener: Reader, head: readonly Place[]): number =>
  head.reduce((sum, { type, partition, offset }) => {
    const next = listener.nextOf(type, partition) ?? offset;
    return sum + Math.max(0, offset - next);
  }, 0);

/**
 * One place of each partition to read from for those behind these places. Those that are close together share it, and the groups
 * take turns, so that nobody waits for who is far behind. A broker fills its answer in the order of the request: the partitions
 * take turns at its beginning.
 */
export function placesBehind(listeners: readonly Reader[], head: readonly Place[], turn: number): Place[] {
  const places = head.flatMap((place): Place[] => {
    const begins = beginsOf(
      listeners.flatMap((each) => each.nextOf(place.type, place.partition) ?? []),
      place.offset,
    );
    const offset = begins[turn % begins.length];
    return offset === undefined ? [] : [{ ...place, offset }];
  });
  const first = turn % Math.max(1, places.length);
  return [...places.slice(first), ...places.slice(0, first)];
}

/** The lowest offset of each group of offsets below the end. */
function beginsOf(offsets: readonly number[], end: number): readonly number[] {
  const begins: number[] = [];
  for (const offset of offsets.filter((each) => each < end).toSorted((a, b) => a - b))
    if (offset - (begins.at(-1) ?? -Infinity) > TOGETHER) begins.push(offset);
  return begins;
}
