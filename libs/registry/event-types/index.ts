// Owns the event types that operators apply: their definitions, the rules of their names and schemas, their state in Redis and the
// view that gives them to the process.
// Guarantees that each change is one deterministic command of the registry, and that a schema, whatever it is, cannot make the
// check of a payload slow.
// Leaves to others the built-in types and the envelope (events), the topics (kafka), and who may change a type (the routes).
export { applyEventTypeLua, eventTypeKeys, eventTypeParts } from './event-type.script.js';
export { archivedRecord, changedTo, EventTypeInput, faultsOfType, type EventTypeRecord } from './event-type.js';
export { compilePayloadSchema } from './payload-schema.js';
export { EventTypeStore, EventTypesView, type EventTypeCommand, type StoredType } from './event-types.adapter.js';
