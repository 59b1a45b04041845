// Owns what partners and sources need to speak with a relay: the typed client of its API, the check of a delivery's
// signature, and the envelope's types and zod schemas, which are those of the relay itself (@relay/events).
// Guarantees that types and operations are those of docs/openapi.json (generated from it), that an access
// token is fetched once and renewed in time, that every refusal is a typed error, and that a cut stream of `listen` goes on from its
// last event. `main.ts` is the command of the package.
// Leaves to others: repeating a request, what an endpoint stores, and Kafka. Published as @partner-relay/client.
export { Envelope, EVENT_TYPES, isEventType, Notice, NOTICE_TYPES, subjectOf, TaskPayload } from '@relay/events';
export type { EventType, NoticeType, Subject } from '@relay/events';
export { RelayProblem, TokenRefused, type Problem, type Heard } from './listen.js';
export { forwardDeliveries, type Forwarding } from './forward-deliveries.js';
export { RelayClient } from './relay-client.adapter.js';
export type { ListenInput, RelayClientSettings, Input, OperationName, Success } from './relay-client.adapter.js';
export { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from './operations.gen.js';
export { verifyDelivery, type DeliveryHeaders, type Verification } from './verify-delivery.js';
