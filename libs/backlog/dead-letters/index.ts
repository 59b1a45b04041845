// Owns dead letters: their record, their index by webhook and envelope, how operators list, replay and purge them, and the
// records of topics about these changes. It also owns the way of records that become no deliveries. Guarantees that a dead letter
// is removed only after Kafka has the record of its ending and its new jobs are stored. Leaves to `retry` which delivery becomes
// a dead letter, and to the apps who may see and end it.
export { DeadLetter, DeadLetterEnding, deadLetterFacts, isEmpty, replayOf, StoredDeadLetter } from './dead-letter.js';
export type { DeadLetterFacets, DeadLetterFacts, DeadLetterFilter, DeadLetterReason } from './dead-letter.js';
export type { FoundDeadLetter, WebhookFinder } from './dead-letter.js';
export { DeadLetterEndings, DeadLetterService, makeReported } from './dead-letter-service.js';
export type { DeadLetterSelection, PurgeReport, ReplayReport } from './dead-letter-service.js';
export { DeadLetterIndex, DeadLetterReader, type DeadLetterPeriod } from './dead-letter-store.adapter.js';
export { RejectedRecords } from './rejected-records.js';
