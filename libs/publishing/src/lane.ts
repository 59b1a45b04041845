import type { OutgoingRecord } from './publisher.port.js';

/**
 * How far a record stands apart from others after a failed send, so that it neither suffers from them nor harms them:
 * 0 = sent with whatever else is ready, 1 = its lane is sent alone, 2 = the record is sent alone.
 */
export type Isolation = 0 | 1 | 2;

/** A record whose caller waits. */
export interface Entry {
  readonly record: OutgoingRecord;
  readonly bytes: number;
  /** Epoch milliseconds; from then on the record is not sent any more. */
  readonly deadline: number;
  readonly lane: Lane;
  readonly resolve: (offset: number | undefined) => void;
  readonly reject: (error: Error) => void;
  isolation: Isolation;
  /** Its caller has an answer. */
  answered: boolean;
}

/** The records for one partition, in order. `busy` while some of them are being sent or wait before a repeat. */
export interface Lane {
  readonly topic: string;
  readonly partition: number;
  readonly waiting: Entry[];
  busy: boolean;
  /** Failed sends in a row. */
  failures: number;
}

export interface BatchBounds {
  /** Bytes of one batch; below the broker's `max.message.bytes`, which counts a whole batch. */
  readonly maxBatchBytes: number;
  readonly maxBatchRecords: number;
}

// What Kafka and we add to a record: lengths, times, the promise behind it.
const RECORD_OVERHEAD = 128;

/** Bytes a record is accounted with while it is in memory. */
export function sizeOf(record: OutgoingRecord): number {
  let bytes = RECORD_OVERHEAD + record.key.length + record.value.length;
  for (const name in record.headers) bytes += name.length + (record.headers[name]?.length ?? 0);
  return bytes;
}

/** Takes the next batch off a lane: at least one record if any waits, as many as the bounds and their isolation allow. */
export function takeBatch(lane: Lane, bounds: BatchBounds): Entry[] {
  const { waiting } = lane;
  const alone = waiting[0]?.isolation === 2;
  let bytes = 0;
  let count = 0;
  for (const entry of waiting) {
    bytes += entry.bytes;
    const fits = count < bounds.maxBatchRecords && bytes <= bounds.maxBatchBytes;
    if (count > 0 && (!fits || alone || entry.isolation === 2)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

/** Puts what was taken back before what has arrived since, unless its caller has its answer: that is never sent again. */
export function putBack(lane: Lane, entries: readonly Entry[], isolation: Isolation): void {
  const again = entries.filter((entry) => !entry.answered);
  for (const entry of again) entry.isolation = isolation;
  lane.waiting.unshift(...again);
}
