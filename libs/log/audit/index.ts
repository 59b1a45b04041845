// Owns the records of `relay.operations`: the changes that operators and partners are about to make, or have made.
// Guarantees that a change is refused while Kafka does not take its record, and that a record holds no payload or credential.
// Leaves to the callers which changes are reported.
export { Audit, type AskedBy, type AskingPartner, type ReportedChange } from './audit.js';
