import { EVENT_TYPES, isEventType } from './event-type.js';
import type { EventType } from './event-type.js';

/** The topic that carries the envelopes of a type. Every name starts with the prefix (KAFKA_TOPIC_PREFIX, '' by default). */
export const topicOf = (prefix: string, type: EventType): string => `${prefix}${type}`;

/** Where poison records of a topic go, with their bytes. */
export const dlqOf = (topic: string): string => `${topic}.dlq`;

/** One record for every attempt made at an endpoint. */
export const deliveryAttemptsTopic = (prefix: string): string => `${prefix}relay.delivery-attempts`;

/** Deliveries given up, until replayed or purged. */
export const deadLettersTopic = (prefix: string): string => `${prefix}relay.dead-letters`;

/** Every change of clients, sources and webhooks, kept for ever: Redis is a view of it. */
export const registryTopic = (prefix: string): string => `${prefix}relay.registry`;

/** What operators want to hear: webhooks disabled and enabled, retries exhausted, replays, audit. */
export const operationsTopic = (prefix: string): string => `${prefix}relay.operations`;

/** The event type a topic carries; undefined for the relay's other topics and for those that are not ours. */
export function eventTypeOfTopic(prefix: string, topic: string): EventType | undefined {
  const type = topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined;
  return isEventType(type) ? type : undefined;
}

/** Every topic of one relay. */
export function topicsOf(prefix: string): string[] {
  const topics = EVENT_TYPES.map((type) => topicOf(prefix, type));
  return [
    ...topics,
    ...topics.map(dlqOf),
    deliveryAttemptsTopic(prefix),
    deadLettersTopic(prefix),
    registryTopic(prefix),
    operationsTopic(prefix),
  ];
}

/** Pairs of names that Kafka cannot tell apart in its metrics, where `.` becomes `_`; brokers refuse to hold both. */
export function collidingTopics(names: readonly string[]): [string, string][] {
  const first = new Map<string, string>();
  return names.flatMap((name): [string, string][] => {
    const metric = name.replaceAll('.', '_');
    const other = first.get(metric);
    first.set(metric, other ?? name);
    return other === undefined ? [] : [[other, name]];
  });
}
