// Owns dead letters: their record, their index by webhook and envelope, how operators list, replay and purge them, and the
// records of topics that say so. Owns as well the way of records that become no deliveries.
// Guarantees that a dead letter is removed only after Kafka has the record of its ending and its new jobs are stored.
// Leaves to `retry` which delivery becomes a dead letter, and to the apps who may see and end it.
export { DeadLetter, type DeadLetterReason } from './dead-letter.js';
export { DeadLetterEnding } from './dead-letter-ending.js';
export { DeadLetterEndings } from './dead-letter-endings.js';
export type { DeadLetterFacets } from './dead-letter-facets.js';
export { deadLetterFacts, type DeadLetterFacts } from './dead-letter-facts.js';
export { isEmpty, type DeadLetterFilter } from './dead-letter-filter.js';
export { DeadLetterIndex, type DeadLetterPeriod } from './dead-letter-index.adapter.js';
export type { DeadLetterQueue } from './dead-letter-queue.port.js';
export { DeadLetterReader, type FoundDeadLetter } from './dead-letter-reader.adapter.js';
export { replayOf, type Registrations } from './dead-letter-replay.js';
export {
  DeadLetterService,
  type DeadLetterCount,
  type DeadLetterSelection,
  type PurgeReport,
  type ReplayReport,
} from './dead-letter-service.js';
export { RejectedRecords } from './rejected-records.js';
export { makeReported } from './reported-change.js';
export { StoredDeadLetter } from './stored-dead-letter.js';
