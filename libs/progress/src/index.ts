// Owns how far the log is read: the tracker of a partition (running and settled offsets), the owner, sequence and high
// water kept in Redis, the reservation of envelope ids, and the ranges of the log that wait for parked webhooks or are
// replayed. Guarantees
// that high water, marks and ranges are written together and only by the partition's owner, who gives it up when nothing
// of it runs any more, so that a rollback of Redis is seen and read again. Leaves to the worker what is done with a record,
// and to `dedupe` the layout of the marks.
export {
  PartitionProgress,
  type Flush,
  type LogPartition,
  type Ownership,
  type PartialMark,
  type Position,
  type Reservation,
  type ReservationResult,
} from './partition-progress.port.js';
export {
  NOTHING_PARKED,
  ParkedRanges,
  type ParkedRange,
  type Parking,
  type ParkingWrite,
  type ReplayCounts,
} from './parked-ranges.js';
export { isReplay, rangeKeyMark, readRangeKey } from './range-key.js';
export { rangesText, readReplay } from './range-text.js';
export {
  PARKED,
  parkedKey,
  parkingKey,
  RECOVERY,
  RedisPartitionProgress,
  REPLAYS,
} from './redis-partition-progress.adapter.js';
export { withShownStatus, type ShownStatus } from './shown-status.adapter.js';
export { Tracker } from './tracker.js';
