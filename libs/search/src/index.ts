// Owns the index of attempts: a SQLite file of the operations app, fed from `relay.delivery-attempts`, with the search over it.
// Guarantees that a record makes one row however often it is read, that no query or write runs on the event loop, and that the
// file stays below its bound: the oldest rows go first. The file can be thrown away at any time; the index then builds itself anew.
// Leaves to `kafka` the fetching, to `story` what became of one envelope, to the app who may ask.
export { AttemptIndex, type IndexSettings } from './attempt-index.js';
export { AttemptSearch } from './attempt-search.js';
export { AttemptLog } from './attempt-log.adapter.js';
export { AttemptStore } from './attempt-store.adapter.js';
export type { IndexedAttempt } from './attempt-row.js';
export type { AttemptPage, AttemptTally } from './attempt-store.adapter.js';
export type { IndexState } from './attempt-follower.js';
