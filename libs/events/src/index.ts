// Owns the envelope and its form in Kafka: the event types, the rules of an accepted envelope, the names of all topics, the
// partition of a key and the headers of a record.
// Guarantees: pure throughout; the received bytes are never changed; reading never throws, neither on the bytes of a source nor
// on the record of a foreign producer; partitions are those of Kafka's Java client and headers those of the CloudEvents Kafka
// binding, so that any Kafka client can produce and consume beside the relay.
// Leaves to others: JSON (@relay/json), sending and reading records, seen marks, which source may address which audience.
export { EVENT_MEANINGS, EVENT_TYPES, isEventType, subjectOf } from './event-type.js';
export type { EventType, Subject } from './event-type.js';
export {
  ENVELOPE_TYPES,
  isEnvelopeType,
  isNoticeType,
  NOTICE_MEANINGS,
  NOTICE_TYPES,
  type EnvelopeType,
  type NoticeType,
} from './notice-type.js';
export { Notice, NOTICE_PAYLOADS, type NoticeFacts } from './notice.js';
export { noticeText } from './notice-text.js';
export {
  AnswerHeaders,
  AttemptFacts,
  AttemptTiming,
  isAskedToWait,
  ShownAttempt,
  shownAttempt,
  withoutAnswer,
} from './attempt-facts.js';
export { StatusFilter } from './status-filter.js';
export { uuidBytes, uuidOf } from './uuid-bytes.js';
export { AttemptRecord } from './attempt-record.js';
export { OPERATIONS_EVENTS, operationsRecord, OperationsRecord, type OperationsEvent } from './operations-record.js';
export { EnvelopeHeaders, NoticeHeaders, PoisonHeaders } from './header-schemas.js';
export { CloudEvent, readBinaryCloudEvent, readCloudEvent } from './cloud-event.js';
export { deliveryHeaders } from './delivery-headers.js';
export { Envelope, MAX_ENVELOPE_BYTES } from './envelope.js';
export {
  ListenEvents,
  STREAM_ENDS,
  type ListenEventData,
  type ListenEventName,
  type StreamEnd,
} from './listen-event.js';
export type { LogRecord } from './log-record.js';
export { readRecord } from './read-record.js';
export type { EnvelopeRecord, ReadRecord } from './read-record.js';
export { readEnvelope, readNotice } from './read-envelope.js';
export type { AcceptedEnvelope, EnvelopeError, EnvelopeResult } from './read-envelope.js';
export { examplePayload, payloadSchemaOf, PAYLOADS, TaskPayload } from './payloads.js';
export { partitionOf } from './partition.js';
export { recordHeaders } from './record-headers.js';
export { continueTrace, isTraceparent, traceIdOf } from './traceparent.js';
export {
  deadLettersTopic,
  deliveryAttemptsTopic,
  dlqOf,
  envelopeTopics,
  noticesTopic,
  operationsTopic,
  registryTopic,
  topicOf,
} from './topic.js';
