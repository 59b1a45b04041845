import type { LogRecord } from '@relay/events';
import type { OffsetGap } from '@relay/kafka';

/** Records looked up in one round trip: few, because live deliveries wait while they are unpacked. */
const CHUNK = 50;

/** Records that are looked up together, and the gap that follows them. */
interface Piece {
  readonly chunk: readonly LogRecord[];
  readonly gap?: OffsetGap | undefined;
}

/** Yields records with the gaps before, among and behind them, in the order of their offsets. */
export function* piecesOf(records: readonly LogRecord[], gaps: readonly OffsetGap[]): Generator<Piece> {
  let from = 0;
  for (const gap of [...gaps, undefined]) {
    const behind = gap === undefined ? -1 : records.findIndex(({ offset }) => offset >= gap.to);
    const end = behind < 0 ? records.length : behind;
    for (; end - from > CHUNK; from += CHUNK) yield { chunk: records.slice(from, from + CHUNK) };
    if (from < end || gap !== undefined) yield { chunk: records.slice(from, end), gap };
    from = end;
  }
}
