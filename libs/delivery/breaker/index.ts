// Owns the breakers of webhooks and endpoints: when one opens, for how long, its probe, and the pause that a webhook asks for. It
// also owns the origins that have answered 2xx, and a process's turns at all other origins: one a second, partners in turn, and
// their webhooks. Guarantees that all workers share one state of these but the turns, and that one probe runs at a time, also if
// a worker dies with it. Leaves waiting deliveries to the worker, and the number of attempts that run at once to `admission`.
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
