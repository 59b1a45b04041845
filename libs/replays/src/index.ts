// Owns replays by time: the order, its state in Redis, its progress as operators and partners see it.
// Guarantees one replay of a webhook at a time, and that an order is on `relay.operations` before it is stored.
// Leaves to the worker how the ranges are delivered, and to `progress` the ranges of a partition and their cursors.
export { openReplayService } from './replay-service.adapter.js';
export { ReplayService, type ReplayScope, type ReplayTarget } from './replay-service.js';
export { replayFacts } from './replay-facts.js';
export { replayTotals, type ReplayTotals } from './replay-totals.js';
export { type ReplayStatus } from './replay-status.js';
export { Replays, type NewReplay, type ReplayRange } from './replays.adapter.js';
