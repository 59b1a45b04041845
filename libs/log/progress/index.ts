// Owns the progress of the log: the tracker of a partition, the owner, sequence and high water in Redis, the look-up of
// envelope ids, and the ranges of parked webhooks and replays.
// Guarantees that high water, marks and ranges are written together and only by the owner of the partition, so that a
// rollback of Redis is detected and the log is read again.
// Leaves to the worker the handling of a record, to `dedupe` the layout of the marks, to `replays` the orders.
export {
  PartitionProgress,
  type Flush,
  type LogPartition,
  type LookUp,
  type LookUpResult,
  type OwnedPosition,
  type Ownership,
  type PartialMark,
  type Position,
  type ReadTo,
} from './partition-progress.port.js';
export { ParkedRanges } from './parked-ranges.js';
export {
  isReplay,
  NOTHING_PARKED,
  offsetsIn,
  rangeKeyPrefix,
  rangesText,
  readRangeKey,
  readRanges,
  readReplay,
  without,
  type ParkedRange,
  type Parking,
  type ParkingWrite,
  type ReplayCounts,
} from './parking.js';
export {
  assertNotResharding,
  assertNumberOfShards,
  droppedKey,
  isParked,
  knownKey,
  parkedKey,
  parkedWebhooks,
  parkingKey,
  partialKey,
  progressKey,
  recoveryKey,
  REPLAY_KEPT_S,
  RESHARDING,
  saidShards,
  withShownStatus,
  type ShownStatus,
} from './progress-keys.js';
export { RedisPartitionProgress, ShardedPartitionProgress } from './redis-partition-progress.adapter.js';
export { Tracker } from './tracker.js';
