// Owns dead letters: their format, their index by webhook and envelope, how operators list, replay and purge them, and the
// records about these changes on topics. It also handles rejected records, from which no delivery can be made. Guarantees
// that a dead letter is removed only after Kafka has stored the record of its end and Redis has stored its new jobs. Leaves
// to `retry` which delivery becomes a dead letter, and to the apps who may see, replay or purge dead letters.
export { DeadLetter, DeadLetterEnding, deadLetterFacts, isEmpty, replayOf, StoredDeadLetter } from './dead-letter.js';
export type { DeadLetterFacets, DeadLetterFacts, DeadLetterFilter, DeadLetterReason } from './dead-letter.js';
export type { FoundDeadLetter, WebhookFinder } from './dead-letter.js';
export { DeadLetterEndings, DeadLetterService, makeReported } from './dead-letter-service.js';
export type { DeadLetterSelection, PurgeReport, ReplayReport } from './dead-letter-service.js';
export { DeadLetterIndex, DeadLetterReader, type DeadLetterPeriod } from './dead-letter-store.adapter.js';
export { RejectedRecords } from './rejected-records.js';
