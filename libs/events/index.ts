// Owns the envelope and its form in Kafka: the event types, the rules of an accepted envelope, the names of all topics, the
// partition of a key and the headers of a record.
// Guarantees: pure throughout; the received bytes are never changed; reading never throws, neither on the bytes of a source nor
// on the record of a foreign producer; partitions are those of Kafka's Java client and headers those of the CloudEvents Kafka
// binding, so that any Kafka client can produce and consume beside the relay.
// Leaves to others: JSON (@relay/json), sending and reading records, seen marks, which source may address which audience.
export { EVENT_MEANINGS, EVENT_TYPES, isEventType, subjectOf } from './event-type.js';
export { EVENT_TYPE_NAME, eventTypeName, eventTypes, withNames, type AppliedEventType } from './event-types.js';
export { isNoticeType, NOTICE_MEANINGS, NOTICE_TYPES } from './event-type.js';
export type { EventType, Subject, EnvelopeType, NoticeType } from './event-type.js';
export { Notice, noticeText, type NoticeFacts } from './notice.js';
export { AnswerHeaders, AttemptFacts, AttemptTiming, isAskedToWait, ShownAttempt } from './attempt-facts.js';
export { shownAttempt, withoutAnswer, StatusFilter, AttemptRecord } from './attempt-facts.js';
export { uuidBytes, uuidOf, partitionOf, deadLettersTopic, deliveryAttemptsTopic, dlqOf } from './topic.js';
export { envelopeTopics, noticesTopic, operationsTopic, registryTopic, topicOf } from './topic.js';
export { OPERATIONS_EVENTS, operationsRecord, OperationsRecord, type OperationsEvent } from './operations-record.js';
export { EnvelopeHeaders, NoticeHeaders, PoisonHeaders, recordHeaders } from './read-record.js';
export { readRecord } from './read-record.js';
export type { LogRecord, EnvelopeRecord, ReadRecord } from './read-record.js';
export {
  CloudEvent,
  readBinaryCloudEvent,
  readCloudEvent,
  readEnvelope,
  readLogged,
  readNotice,
} from './read-envelope.js';
export type { AcceptedEnvelope, EnvelopeError, EnvelopeResult, SenderRules } from './read-envelope.js';
export { Envelope, examplePayload, payloadSchemaOf, PAYLOADS, TaskPayload } from './envelope.js';
export { ListenEvents, STREAM_ENDS } from './listen-event.js';
export type { ListenEventData, ListenEventName, StreamEnd } from './listen-event.js';
export { continueTrace, isTraceparent, traceIdOf } from './traceparent.js';
