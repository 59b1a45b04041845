// Owns the breaker of each endpoint: when it opens, for how long, who may probe, and the rest that an endpoint asks for.
// Owns as well which origins have answered 2xx, and the turns of those that never have: one attempt at a time, one a second.
// Guarantees that all workers share one state and that one probe runs at a time, also when a worker dies with it.
// Leaves to the worker what becomes of deliveries meanwhile, and to `delivery` how many attempts run at once.
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
} from './breaker.js';
export { BreakerStore } from './breaker-store.port.js';
export { RedisBreakerStore } from './redis-breaker-store.adapter.js';
export { KnownOrigins, originOf } from './origin-proof.js';
export { OriginProofs, type Turn, type TurnAsked } from './origin-proofs.port.js';
export { RedisOriginProofs } from './redis-origin-proofs.adapter.js';
export { TURN_MS, TurnLine } from './turn-line.js';
