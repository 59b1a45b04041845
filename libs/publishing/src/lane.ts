import type { OutgoingRecord } from './publisher.port.js';

/**
 * Isolation of a record after a failed send, so that other records cannot make it fail again, nor it them:
 * 0 = sent with other lanes, 1 = its lane is sent alone, 2 = the record is sent alone.
 */
export type Isolation = 0 | 1 | 2;

/** A record and its waiting caller. */
export interface Entry {
  readonly record: OutgoingRecord;
  readonly bytes: number;
  /** Epoch milliseconds from which on the record is not sent. */
  readonly deadline: number;
  readonly lane: Lane;
  readonly resolve: (offset: number | undefined) => void;
  readonly reject: (error: Error) => void;
  isolation: Isolation;
  /** Whether the caller has its answer. */
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

// Memory beside key and value: lengths, times, the promise of the caller.
const RECORD_OVERHEAD = 128;

/** Bytes that a record counts while it is in memory. */
export function sizeOf(record: OutgoingRecord): number {
  let bytes = RECORD_OVERHEAD + record.key.length + record.value.length;
  for (const name in record.headers) bytes += name.length + (record.headers[name]?.length ?? 0);
  return bytes;
}

/** Removes the next batch from a lane: at least one record if any waits, and as many as bounds and isolation allow. */
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

/** Returns taken records to the front of their lane, except those whose callers have an answer, which are never sent again. */
export function putBack(lane: Lane, entries: readonly Entry[], isolation: Isolation): void {
  const again = entries.filter((entry) => !entry.answered);
  for (const entry of again) entry.isolation = isolation;
  lane.waiting.unshift(...again);
}
