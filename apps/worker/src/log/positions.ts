import type { Position } from '@relay/progress';

/** Returns our own position after an ownership, which has raised the sequence. */
export const owned = ({ highWater, sequence }: Position): Position => ({ highWater, sequence: sequence + 1 });

export const same = (a: Position, b: Position | undefined): boolean =>
  b !== undefined && a.highWater === b.highWater && a.sequence === b.sequence;
