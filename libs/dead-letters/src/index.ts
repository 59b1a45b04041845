// Owns dead letters: their record, how they are found by webhook and envelope, listed, replayed and purged, and the topic
// records that say so. Guarantees that a letter goes only after its new jobs are stored and after Kafka has the record of
// its end. Leaves to `retry` which delivery becomes one, and to the apps who may see and end it.
export { DeadLetter, type DeadLetterReason } from './dead-letter.js';
export { LetterEnd } from './dead-letter-ending.js';
export { LetterEnds } from './dead-letter-endings.js';
export { letterFacts } from './dead-letter-facts.js';
export { isEmpty, type LetterFilter } from './dead-letter-filter.js';
export { LetterIndex, type Died } from './dead-letter-index.adapter.js';
export type { DeadLetterQueue } from './dead-letter-queue.port.js';
export { DeadLetterBox } from './dead-letter-reader.adapter.js';
export { replayOf, type Registrations } from './dead-letter-replay.js';
export {
  DeadLetterDesk,
  type Counted,
  type LetterChoice,
  type Listed,
  type PurgeReport,
  type ReplayReport,
} from './dead-letter-service.js';
export { Undeliverable } from './rejected-records.js';
export { makeTold } from './reported-change.js';
export { StoredDeadLetter } from './stored-dead-letter.js';
