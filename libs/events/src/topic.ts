import { isEventType } from './event-type.js';
import type { EventType } from './event-type.js';

/** The topic of an event type. Every name starts with the prefix (KAFKA_TOPIC_PREFIX, '' by default). */
export const topicOf = (prefix: string, type: EventType): string => `${prefix}${type}`;

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

/** The event type of a topic; undefined for any other topic of the relay and for foreign topics. */
export function eventTypeOfTopic(prefix: string, topic: string): EventType | undefined {
  const type = topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined;
  return isEventType(type) ? type : undefined;
}
