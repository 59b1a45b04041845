// What partners and sources need to use a relay: a typed client of the API, the verification of signatures, and the types
// and zod schemas of the envelope, which the relay itself uses too (@relay/events). Published as @partner-relay/client;
// `main.ts` is the command of the package. Types and operations are generated from docs/openapi.json. The client fetches an
// access token once and renews it in time, throws a typed error for every refusal, and resumes an interrupted stream of
// `listen` after its last event. The package does not repeat requests, does not store anything for an endpoint, and does not
// use Kafka.
export { Envelope, EVENT_TYPES, isEventType, Notice, NOTICE_TYPES, subjectOf, TaskPayload } from '@relay/events';
export type { EventType, NoticeType, Subject } from '@relay/events';
export { RelayProblem, TokenRefused, type Problem, type Heard } from './listen.js';
export { forwardDeliveries, type Forwarding } from './forward-deliveries.js';
export { RelayClient } from './relay-client.adapter.js';
export type { ListenInput, RelayClientSettings, Input, OperationName, Success } from './relay-client.adapter.js';
export { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from './operations.gen.js';
export { verifyDelivery, type DeliveryHeaders, type Verification } from './verify-delivery.js';
