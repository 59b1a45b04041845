// Owns the history of successful deliveries: one line for each, with all its attempts, found by webhook and time or by
// envelope. It also owns the counts of attempts of each webhook. Both are stored in the shards of the envelopes and read
// from all shards.
// Guarantees that a delivery with one attempt takes 80 to 110 bytes of Redis, that it is kept for `HISTORY_WINDOW` and no
// longer, that a count takes about 70 bytes for an hour, and that pages show each line once even if the lines come from several shards. The history is written after the
// delivery, so a crash may lose the last lines, but never a delivery.
// Leaves to `retry` the pending deliveries and the dead letters, whose jobs have their own lists of attempts.
export {
  failureRateOf,
  RedisAttemptCounts,
  ShardAttemptCounts,
  type AttemptCounts,
  type AttemptTotals,
  type NewAttempts,
} from './attempt-counts.adapter.js';
export { merged, RedisDeliveryHistory, ShardHistory, type SortedList } from './delivery-history.adapter.js';
export { CountsQuery, HourCounts, periodOfCounts, type HourPeriod } from './hour-counts.js';
export { hourExpiresAt, idOf, indexedLine, type DeliveredLine, type HistoryLine } from './history-line.js';
