// Owns the breakers of webhooks and endpoints: when a breaker opens, for how long, its probe, and the pause that a webhook
// asks for. It also owns the list of origins that have answered 2xx. To every other origin a process makes one attempt a
// second, and partners and their webhooks take turns there. Guarantees that all workers share the breakers and the list,
// while each process has its own turns. It also guarantees that only one probe runs at a time, even if a worker dies during
// its probe. Leaves waiting deliveries to the worker, and the number of concurrent attempts to `admission`.
export {
  barredUntil,
  Breaker,
  CLOSED,
  counted,
  held,
  IN_A_ROW,
  isForgettable,
  openMs,
  probed,
  probing,
  type Tally,
  unclaimed,
} from './breaker.js';
export { BreakerStore } from './breaker-store.port.js';
export { RedisBreakerStore, RedisOriginProofs } from './redis-breaker-store.adapter.js';
export { type Asker, KnownOrigins, originOf, OriginTurns } from './origin-turns.js';
