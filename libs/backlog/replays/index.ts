// Owns replays by time: how they are ordered, their state in Redis, and their progress as operators and partners see it.
// Guarantees that a webhook has at most one replay under way, and that an order is recorded on `relay.operations` before it
// is stored in Redis. Leaves to the worker how the ranges are delivered, and to `progress` how the ranges of a partition are
// stored with their cursors.
export type { ReplayPart } from './replay-parts.adapter.js';
export { openReplayService, ReplayService, type ReplayTarget } from './replay-service.js';
export { REPLAY_EXAMPLE, ReplayAnswer, ReplayCursor, ReplayId, ReplayRequest } from './replay-status.js';
export { replayFacts, replayTotals, type ReplayStatus, type ReplayTotals } from './replay-status.js';
export { replayCursor, Replays, type NewReplay, type ReplayRange } from './replays.adapter.js';
