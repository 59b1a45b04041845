// Owns the progress of the workers in the log: the tracker of a partition, the partition's owner, sequence and high water in
// Redis, the look-up of envelope ids, and the ranges of parked webhooks and replays.
// Guarantees that high water, marks and ranges are written together, and only by the owner of the partition. If Redis loses
// its latest writes, all of them go back together; the worker detects this and reads the log again from there.
// Leaves to the worker the handling of a record, to `dedupe` the layout of the marks, and to `replays` the orders of
// replays.
export { PartitionProgress } from './partition-progress.port.js';
export type { Flush, LogPartition, OwnedPosition, Ownership, Position, ReadTo } from './partition-progress.port.js';
export type { LookUp, LookUpResult, PartialMark } from './partition-progress.port.js';
export { ParkedRanges } from './parked-ranges.js';
export { isReplay, offsetsIn, rangeKeyPrefix, rangesText, readRangeKey, readRanges, readReplay } from './parking.js';
export { NOTHING_PARKED, without } from './parking.js';
export type { ParkedRange, Parking, ParkingWrite, ReplayCounts } from './parking.js';
export { droppedKey, knownKey, parkedKey, parkingKey, partialKey, progressKey, recoveryKey } from './progress-keys.js';
export { isParked, parkedWebhooks, REPLAY_KEPT_S, withShownStatus, type ShownStatus } from './progress-keys.js';
export { assertNotResharding, assertNumberOfShards, RESHARDING, saidShards } from './progress-keys.js';
export { RedisPartitionProgress, ShardedPartitionProgress } from './redis-partition-progress.adapter.js';
export { Tracker } from './tracker.js';
