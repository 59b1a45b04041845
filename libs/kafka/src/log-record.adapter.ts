import type { LogRecord } from '@relay/events';
import type { KafkaMessage } from 'kafkajs';

/** A record as kafkajs hands it out. */
export const logRecordOf = (message: KafkaMessage): LogRecord => ({
  offset: Number(message.offset),
  key: message.key,
  value: message.value,
  headers: message.headers ?? {},
  timestamp: Number(message.timestamp),
});
