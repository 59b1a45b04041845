// Owns the history of successful deliveries: a line for each with all its attempts, found by webhook and time or by envelope; and
// the counts of attempts of each webhook.
// Guarantees 80 to 110 bytes of Redis for each delivery of one attempt, kept for `HISTORY_WINDOW` and no longer.
// It is written after the delivery: a crash may lose the last lines, never a delivery. Leaves pending deliveries and dead
// letters to `retry`, whose jobs have their own attempts.
export { RedisDeliveryHistory } from './redis-delivery-history.adapter.js';
export {
  failureRateOf,
  RedisAttemptCounts,
  type AttemptCounts,
  type AttemptTotals,
  type Failures,
} from './redis-attempt-counts.adapter.js';
export type { DeliveredLine, HistoryLine } from './history-line.js';
