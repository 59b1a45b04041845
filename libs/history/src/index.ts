// Owns what is remembered of deliveries that reached their endpoint: a line each with all its attempts, found by webhook and
// time or by envelope. Guarantees 80 to 105 bytes of Redis for each delivery of one attempt, kept for `HISTORY_WINDOW` and no longer, and
// that a partner's lines are found by the ids of its own webhooks only. It is told beside the path: a crash may lose the last
// lines, never a delivery. Leaves what waits or is dead to `retry`, whose jobs carry their own attempts.
export { RedisDeliveryHistory } from './redis-delivery-history.adapter.js';
export type { DeliveredLine, HistoryLine, HistoryPeriod } from './history-line.js';
