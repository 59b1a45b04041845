import { isNoticeType, type EnvelopeType } from './event-type.js';
import { eventTypes } from './event-types.js';

/** Topic of all notices, which are envelopes that the relay itself sends. */
export const noticesTopic = (prefix: string): string => `${prefix}relay.notices`;

/** Returns the topic of an event type. All topic names begin with the prefix (KAFKA_TOPIC_PREFIX, '' by default). */
export const topicOf = (prefix: string, type: EnvelopeType): string =>
  isNoticeType(type) ? noticesTopic(prefix) : `${prefix}${type}`;

/** Returns the topics of all known event types, including archived ones. Workers read these topics. */
export const envelopeTopics = (prefix: string): string[] => [
  ...new Set(eventTypes.names('known').map((type) => topicOf(prefix, type))),
];

/** Topic for the poison records of a topic, which keep their bytes. */
export const dlqOf = (topic: string): string => `${topic}.dlq`;

/** Topic with one record for every attempt. */
export const deliveryAttemptsTopic = (prefix: string): string => `${prefix}relay.delivery-attempts`;

/** Topic of deliveries that were given up, until they are replayed or purged. */
export const deadLettersTopic = (prefix: string): string => `${prefix}relay.dead-letters`;

/**
 * Topic of all changes of clients, sources and webhooks. It is kept forever, and Redis has a copy of the resulting state.
 */
export const registryTopic = (prefix: string): string => `${prefix}relay.registry`;

/** Topic of events for operators: webhooks disabled and enabled, retries exhausted, replays, audit. */
export const operationsTopic = (prefix: string): string => `${prefix}relay.operations`;

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/**
 * Returns the partition of a key, chosen as Kafka's Java client does: murmur2 of the key's UTF-8 bytes with the sign bit
 * cleared, modulo the number of partitions (BuiltInPartitioner). Records that other clients write with the same key are
 * therefore in the same partition.
 */
export function partitionOf(key: string | Buffer, partitions: number): number {
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % partitions;
}

/** The 32-bit murmur2 of org.apache.kafka.common.utils.Utils, as a signed number. */
export function murmur2(bytes: Buffer): number {
  const { length } = bytes;
  const whole = length & ~3;
  let h = SEED ^ length;
  for (let at = 0; at < whole; at += 4) {
    let k = Math.imul(bytes.readInt32LE(at), M);
    k = Math.imul(k ^ (k >>> 24), M);
    h = Math.imul(h, M) ^ k;
  }
  if (length > whole) h = Math.imul(h ^ bytes.readUIntLE(whole, length - whole), M);
  h = Math.imul(h ^ (h >>> 13), M);
  return h ^ (h >>> 15);
}

/** Converts a UUID to 16 bytes; `uuidOf` converts it back, in lower case. */
export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');
export const uuidOf = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
