// Owns the relay's keys for data at rest: encryption of credentials and signing secrets, keyed hashes of client secrets
// and API keys. Guarantees that a record opens only in the context it was written for, and that several keys can be
// read while one writes. Leaves to others where keys come from (ENCRYPTION_KEYS) and where records are kept.
export { kidOf, Keyring, type Context } from './keyring.js';
