// Decides which attempts of one worker run at the same time. There is an adaptive limit for each webhook, a cap that the
// webhooks of an endpoint share, a limit for slow and failing webhooks together, and a share for each partner. A delivery
// that gets no slot is given the time of its next try. A full webhook does not delay other webhooks. A call costs at most
// the logarithm of the number of waiting deliveries. `breaker` contains the circuit breakers. The worker decides what
// happens to a delivery until it gets its slot.
export { ConcurrencyLimiter } from './concurrency-limiter.js';
export { fairLimits, type ConcurrencyLimits, type Place, type SlotUse } from './concurrency-limits.js';
