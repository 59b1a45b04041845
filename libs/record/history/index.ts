// Owns the history of successful deliveries: a line for each with all its attempts, found by webhook and time or by envelope; and
// the counts of attempts of each webhook. Both are in the shards of the envelopes: a shard is written alone, and all are read together.
// Guarantees 80 to 110 bytes of Redis for each delivery of one attempt, kept for `HISTORY_WINDOW` and no longer; and pages that show
// each line once, whatever shards they come from.
// It is written after the delivery: a crash may lose the last lines, never a delivery. Leaves pending deliveries and dead
// letters to `retry`, whose jobs have their own attempts.
export {
  failureRateOf,
  RedisAttemptCounts,
  ShardAttemptCounts,
  type AttemptCounts,
  type AttemptTotals,
  type Failures,
} from './attempt-counts.adapter.js';
export { merged, RedisDeliveryHistory, ShardHistory, type SortedList } from './delivery-history.adapter.js';
export { hourExpiresAt, idOf, indexedLine, type DeliveredLine, type HistoryLine } from './history-line.js';
