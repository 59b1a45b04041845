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

/** The number of the leader that wrote a record (KIP-101), which each new leader of the partition raises; the types of kafkajs leave it out. */
export const leaderEpochOf = (message: KafkaMessage): number | undefined =>
  (message as KafkaMessage & { readonly batchContext?: { readonly partitionLeaderEpoch: number } }).batchContext
    ?.partitionLeaderEpoch;
