// Owns what partners and sources need to use a relay: a typed client of the API, the verification of signatures, and the
// types and zod schemas of the envelope, which the relay itself uses too (@relay/events). Guarantees that its types and
// operations are generated from docs/openapi.json, that an access token is fetched once and renewed in time, that every
// refusal is a typed error, and that an interrupted stream of `listen` is resumed after its last event. Leaves to the caller
// how requests are repeated and what an endpoint stores. It does not use Kafka. The package is published as
// @partner-relay/client, and `main.ts` is its command.
export { Envelope, EVENT_TYPES, isEventType, Notice, NOTICE_TYPES, subjectOf, TaskPayload } from '@relay/events';
export type { EventType, NoticeType, Subject } from '@relay/events';
export { RelayProblem, TokenRefused, type Problem, type Heard } from './listen.js';
export { forwardDeliveries, type Forwarding } from './forward-deliveries.js';
export { RelayClient } from './relay-client.adapter.js';
export type { ListenInput, RelayClientSettings, Input, OperationName, Success } from './relay-client.adapter.js';
export { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from './operations.gen.js';
export { verifyDelivery, type DeliveryHeaders, type Verification } from './verify-delivery.js';
