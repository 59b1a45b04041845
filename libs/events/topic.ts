import { isNoticeType, type EnvelopeType } from './event-type.js';
import { eventTypes } from './event-types.js';

/** Every notice: envelopes of the relay itself. */
export const noticesTopic = (prefix: string): string => `${prefix}relay.notices`;

/** The topic of an event type. Every name starts with the prefix (KAFKA_TOPIC_PREFIX, '' by default). */
export const topicOf = (prefix: string, type: EnvelopeType): string =>
  isNoticeType(type) ? noticesTopic(prefix) : `${prefix}${type}`;

/** Every topic of envelopes, which workers read: those of the present event types, archived ones among them. */
export const envelopeTopics = (prefix: string): string[] => [
  ...new Set(eventTypes.names('known').map((type) => topicOf(prefix, type))),
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

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/**
 * The partition a key belongs to, as Kafka's Java client chooses it (BuiltInPartitioner: murmur2 of the key's UTF-8 bytes,
 * its sign bit cleared, modulo the partitions), so records written by other clients with the same key land beside ours.
 */
export function partitionOf(key: string | Buffer, partitions: number): number {
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % partitions;
}

/** The 32-bit murmur2 of org.apache.kafka.common.utils.Utils, signed as there. */
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

/** A UUID in 16 bytes, and back in lower case. */
export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');
export const uuidOf = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
