// Replays by time: how they are ordered, their state in Redis, and their progress as operators and partners see it. A
// webhook has at most one replay under way. An order is recorded on `relay.operations` before it is stored in Redis. The
// worker delivers the ranges. `progress` stores the ranges of a partition with their cursors.
export type { ReplayPart } from './replay-parts.adapter.js';
export { openReplayService, ReplayService, type ReplayTarget } from './replay-service.js';
export { REPLAY_EXAMPLE, ReplayAnswer, ReplayCursor, ReplayId, ReplayRequest } from './replay-status.js';
export { replayFacts, replayTotals, type ReplayStatus, type ReplayTotals } from './replay-status.js';
export { replayCursor, Replays, type NewReplay, type ReplayRange } from './replays.adapter.js';
