import { EVENT_TYPES } from './event-type.js';
import { isNoticeType, type EnvelopeType } from './notice-type.js';

/** Every notice: envelopes of the relay itself. */
export const noticesTopic = (prefix: string): string => `${prefix}relay.notices`;

/** The topic of an event type. Every name starts with the prefix (KAFKA_TOPIC_PREFIX, '' by default). */
export const topicOf = (prefix: string, type: EnvelopeType): string =>
  isNoticeType(type) ? noticesTopic(prefix) : `${prefix}${type}`;

/** Every topic of envelopes, which workers read. */
export const envelopeTopics = (prefix: string): string[] => [
  ...EVENT_TYPES.map((type) => topicOf(prefix, type)),
  noticesTopic(prefix),
];

/** The topic for the poison records of a topic, with their bytes. */
export const dlqOf = (topic: string): string => `${topic}.dlq`;

/** One record for every attempt made at an endpoint. */
export const deliveryAttemptsTopic = (prefix: string): string => `${prefix}relay.delivery-attempts`;

/** Deliveries given up, until replayed or purged. */
export const deadLettersTopic = (prefix: string): string => `${prefix}relay.dead-letters`;

/** Every change of clients, sources and webhooks, kept for ever: Redis is a view of it. */
export const registryTopic = (prefix: string): string => `${prefix}relay.registry`;

/** Events for operators: webhooks disabled and enabled, retries exhausted, replays, audit. */
export const operationsTopic = (prefix: string): string => `${prefix}relay.operations`;
