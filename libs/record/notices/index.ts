// Owns the sending of notices: envelopes of the relay itself, which tell a partner, and operators who want it,
// what became of a webhook.
// Guarantees that a notice is about no webhook of notices, that a kind is told once a webhook and hour whichever processes tell it,
// that a line in Redis is told whoever is killed, and that telling never throws and never holds up the change that it is about.
// Leaves types, payloads and words to `events`, and everything after Kafka has the record to the worker, which delivers a notice as
// it delivers any envelope.
export { NoticeLines } from './notice-lines.adapter.js';
export { Notices, OPERATORS } from './notices.js';
