// Owns replays by time: the order, its state in Redis, and its progress as operators and partners see it.
// Guarantees one replay of a webhook at a time, and that `relay.operations` has an order before Redis has it.
// Leaves delivering the ranges to the worker, and the ranges of a partition with their cursors to `progress`.
export type { ReplayPart } from './replay-parts.adapter.js';
export { openReplayService, ReplayService, type ReplayTarget } from './replay-service.js';
export { REPLAY_EXAMPLE, ReplayAnswer, ReplayCursor, ReplayId, ReplayRequest } from './replay-status.js';
export { replayFacts, replayTotals, type ReplayStatus, type ReplayTotals } from './replay-status.js';
export { replayCursor, Replays, type NewReplay, type ReplayRange } from './replays.adapter.js';
