// Owns the sending of notices. A notice is an envelope of the relay itself that informs a partner, and operators who asked
// for it, about a change of a webhook.
// Guarantees that there are no notices about the webhooks of notices; that of each kind, a webhook has at most one notice an
// hour, even if several processes send it; that a line that is stored in Redis is sent even if a process is killed; and that
// sending never throws and never delays the change.
// Leaves to `events` the types, payloads and texts, and to the worker everything after Kafka has the record: it delivers a
// notice like any other envelope.
export { NoticeLines } from './notice-lines.adapter.js';
export { Notices, OPERATORS } from './notices.js';
