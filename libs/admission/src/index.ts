// Owns how many attempts of one worker run at once, and which is next: an adaptive limit for each endpoint, a share for slow
// and failing ones, a share for each partner, and when a delivery that finds no slot comes back.
// Guarantees that a full endpoint delays no other, and that a call costs at most the logarithm of how many wait.
// Leaves breakers to `breaker`, and to the worker what a delivery does meanwhile.
export { Gate } from './concurrency-limiter.js';
export { fairLimits, type GateLimits } from './concurrency-limits.js';
