// Owns what partners and sources need to speak with a relay from Node: the typed client of its API, the check of a delivery's
// signature, and the envelope's types and zod schemas, which are those of the relay itself (@relay/events).
// Guarantees that types and operations are those of docs/openapi.json (generated from it), that an access
// token is fetched once and renewed in time, and that every refusal is a typed error.
// Leaves to others: repeating a request, what an endpoint stores, and Kafka. Published as @partner-relay/client.
export { Envelope, EVENT_TYPES, isEventType, Notice, NOTICE_TYPES, subjectOf, TaskPayload } from '@relay/events';
export type { EventType, NoticeType, Subject } from '@relay/events';
export { RelayProblem, TokenRefused } from './errors.js';
export type { Problem } from './errors.js';
export { RelayClient } from './relay-client.adapter.js';
export type { RelayClientSettings } from './relay-client.adapter.js';
export type { Input, OperationName, Success } from './operation.js';
export { verifyDelivery } from './verify-delivery.js';
export type { DeliveryHeaders, Verification } from './verify-delivery.js';
