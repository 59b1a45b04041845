// Owns which attempts of one worker run at once: an adaptive limit for each webhook, a cap that the webhooks of an endpoint share,
// a share for slow and failing webhooks, a share for each partner, and the time at which a delivery without a slot comes back.
// Guarantees that a full webhook delays no other, and that a call costs at most the logarithm of the number of waiting
// deliveries. Leaves breakers to `breaker`, and to the worker what a delivery does until its slot comes.
export { ConcurrencyLimiter } from './concurrency-limiter.js';
export { fairLimits, type ConcurrencyLimits, type Place, type SlotUse } from './concurrency-limits.js';
