// Owns replays by time: the order, of one webhook or of several at once, its state in Redis, and its progress as operators and
// partners see it.
// Guarantees one replay of a webhook at a time, and that `relay.operations` has an order before Redis has it.
// Leaves delivering the ranges to the worker, and the ranges of a partition with their cursors to `progress`.
export { LeftOut, type ReplayGroupStatus } from './replay-group.js';
export { ReplayGroups, type GroupActor, type ReplayGroupPlan } from './replay-groups.js';
export { openReplayGroups, openReplayService } from './replay-service.adapter.js';
export { ReplayService, type ReplayTarget } from './replay-service.js';
export { progressFacts, replayFacts, rounded, textOf } from './replay-facts.js';
export { REPLAY_EXAMPLE, ReplayAnswer, ReplayCursor, ReplayId, ReplayRequest } from './replay-schemas.js';
export type { ReplayPart } from './replay-parts.adapter.js';
export { replayTotals, type ReplayTotals } from './replay-totals.js';
export { type ReplayStatus } from './replay-status.js';
export { replayCursor, Replays, type NewReplay, type ReplayRange } from './replays.adapter.js';
