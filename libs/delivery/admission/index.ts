// Owns which attempts of one worker run at the same time. There is an adaptive limit for each webhook, a cap that the
// webhooks of an endpoint share, a limit for slow and failing webhooks together, and a share for each partner. A delivery
// that gets no slot is given the time of its next try. Guarantees that a full webhook does not delay other webhooks, and
// that a call costs at most the logarithm of the number of waiting deliveries. Leaves the circuit breakers to `breaker`, and
// to the worker what happens to a delivery until it gets its slot.
export { ConcurrencyLimiter } from './concurrency-limiter.js';
export { fairLimits, type ConcurrencyLimits, type Place, type SlotUse } from './concurrency-limits.js';
