// Owns the index of attempts: a SQLite file of the operations app, fed from `relay.delivery-attempts`, with the search over it.
// Guarantees that a record makes one row however often it is read, that no query or write runs on the event loop, and that the
// file stays below its bound: the oldest rows go first. The file can be thrown away at any time; the index then builds itself
// again. Leaves to `kafka` the fetching, to `story` what became of one envelope, to the app who may ask.
export { AttemptIndex, AttemptTopic } from './attempt-index.js';
export { AttemptSearch } from './attempt-sql.js';
export type { AttemptTally } from './attempt-store.adapter.js';
