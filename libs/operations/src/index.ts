// Owns what an operator sees and does: the figures of the stores as metrics, how dead letters are found, replayed and
// purged, and how deliveries of a time are made again. Guarantees that a figure is read when it is asked for or left out, never old, that no figure carries an id, that
// a letter goes only after its new jobs are stored, and that a change by an operator is told before it is made.
// Leaves to the apps who may see and do it, and how it looks.
export { Audit, type ToldChange } from './audit.js';
export { readLag, type TopicLag } from './consumer-lag.adapter.js';
export { DeadLetterBox, type StoredLetter } from './dead-letters/dead-letter-box.adapter.js';
export {
  DeadLetterDesk,
  type Counted,
  type LetterChoice,
  type Listed,
  type PurgeReport,
  type ReplayReport,
} from './dead-letters/dead-letter-desk.js';
export { letterFacts, type LetterFacts } from './dead-letters/letter-facts.js';
export { LetterEnds } from './dead-letters/letter-ends.js';
export { replayOf, type Registrations } from './dead-letters/replay.js';
export { makeTold } from './dead-letters/told-letter-change.js';
export { isEmpty, type LetterFilter } from './dead-letters/letter-filter.js';
export { tellKeyAges } from './key-ages.adapter.js';
export {
  countDeliveries,
  JOB_STATES,
  QUEUES,
  readQueues,
  type JobState,
  type QueueState,
} from './queue-state.adapter.js';
export { readMemory, type RedisMemory } from './redis-memory.adapter.js';
export { ReplayDesk, type ReplaySight, type ReplayTarget } from './replays/replay-desk.js';
export { openReplayDesk } from './replays/replay-desk.adapter.js';
export { replayFacts } from './replays/replay-facts.js';
export { replayFigures } from './replays/replay-figures.js';
export { withShownStatus, type ShownStatus } from './shown-status.adapter.js';
export { tellStores, type StoreSources } from './store-gauges.js';
