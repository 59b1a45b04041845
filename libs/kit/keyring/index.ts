// Owns the relay's keys for data at rest: encryption of credentials and signing secrets, keyed hashes of client secrets and API
// keys.
// Guarantees that a record opens only in the context it was written for, and that several keys can read while one writes.
// Leaves to its users the source of the keys (ENCRYPTION_KEYS) and the place of the records.
export { CannotOpen, kidOf, Keyring } from './keyring.js';
