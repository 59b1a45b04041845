import type { EventType } from '@relay/events';
import type { Offsets } from '@relay/kafka';

/** Records that a stream may be behind the end of the log; what lies further back is skipped. */
export const MOST_BEHIND = 10_000;

/** Where a stream stands: of each event type, the next offset of each partition. */
export type Position = ReadonlyMap<EventType, Offsets>;

/** A position and when it was told, epoch milliseconds. */
export interface ToldPosition {
  readonly at: number;
  readonly position: Position;
}

/** Such as `lxyz1;task.created:0.1f;plan.created:c.0`, numbers to the base of 36. */
export function positionText({ at, position }: ToldPosition): string {
  const places = [...position].map(
    ([type, offsets]) => `${type}:${offsets.map((each) => each.toString(36)).join('.')}`,
  );
  return [at.toString(36), ...places].join(';');
}

/** Reads what `positionText` wrote. */
export function positionIn(text: string): ToldPosition {
  const [at = '', ...places] = text.split(';');
  const position = places.map((place): [EventType, number[]] => {
    const [type, offsets = ''] = place.split(':');
    const numbers = offsets === '' ? [] : offsets.split('.');
    return [type as EventType, numbers.map((each) => Number.parseInt(each, 36))];
  });
  return { at: Number.parseInt(at, 36), position: new Map(position) };
}

/**
 * Where a stream begins that was at `told`. A type that is new to it begins at its end, a partition that is new at its first
 * record. Where the log has not all that lies between, or that is too much, it begins at the end.
 */
export function resumed(told: Position, first: Position, end: Position): { position: Position; isWhole: boolean } {
  let behind = 0;
  let isWhole = true;
  const position = [...end].map(([type, ends]): [EventType, Offsets] => {
    const known = told.get(type);
    if (known === undefined) return [type, ends];
    const offsets = ends.map((_, partition) => known[partition] ?? 0);
    for (const [partition, offset] of offsets.entries()) {
      const high = ends[partition] ?? 0;
      if (offset < (first.get(type)?.[partition] ?? 0) || offset > high) isWhole = false;
      behind += high - offset;
    }
    // Created anew with fewer partitions.
    if (known.length > ends.length) isWhole = false;
    return [type, offsets];
  });
  isWhole &&= behind <= MOST_BEHIND;
  return isWhole ? { position: new Map(position), isWhole } : { position: end, isWhole };
}
