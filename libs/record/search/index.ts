// Owns the index of attempts: a SQLite file of the operations app, filled from `relay.delivery-attempts`, and the search in
// it.
// Guarantees that a record is indexed once even if it is read again, that no query or write runs on the event loop, and that
// the file stays below its maximum size: the oldest rows are deleted first. The file may be deleted at any time; the index
// is then built again.
// Leaves to `kafka` the fetching, to `story` the history of one envelope, and to the app who may search.
export { AttemptIndex, AttemptTopic } from './attempt-index.js';
export { AttemptSearch } from './attempt-sql.js';
export type { AttemptTally } from './attempt-store.adapter.js';
