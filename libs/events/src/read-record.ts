import type { EnvelopeType } from './event-type.js';
import { readEnvelope, readNotice, type AcceptedEnvelope } from './read-envelope.js';
import { readRecordHeaders } from './record-headers.js';
import { noticesTopic, topicOf } from './topic.js';

export interface LogRecord {
  offset: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;
  /** Milliseconds since the epoch. */
  timestamp: number;
}

export interface EnvelopeRecord {
  kind: 'envelope';
  record: LogRecord;
  envelope: AcceptedEnvelope<EnvelopeType>;
  /** Epoch milliseconds. */
  acceptedAt: number;
  /** When it was accepted, where `acceptedAt` is later: `acceptedAt` then leaves out the time in the log. */
  waitedSince?: number;
  traceparent: string | undefined;
  /** Client id of the source that sent it; undefined for a foreign producer. */
  source?: string;
}

export type ReadRecord = EnvelopeRecord | { kind: 'poison'; record: LogRecord; reason: string };

/** Reads a record of the log: of the relay, or of a foreign producer. */
export function readRecord(record: LogRecord, topic: string, prefix: string): ReadRecord {
  const { value } = record;
  if (value === null) return { kind: 'poison', record, reason: 'the record has no value' };
  const { audience, acceptedAt, traceparent, source } = readRecordHeaders(record.headers);
  const result = (topic === noticesTopic(prefix) ? readNotice : readEnvelope)(value, audience);
  if (!result.ok) {
    const reason = result.errors.map((error) => `${error.pointer} ${error.detail}`.trim()).join(' ');
    return { kind: 'poison', record, reason };
  }
  const { envelope } = result;
  if (topicOf(prefix, envelope.type) !== topic) {
    return { kind: 'poison', record, reason: `its type ${envelope.type} does not belong into this topic` };
  }
  // Only the relay's own ce_time is the time of acceptance: that of a foreign producer may be long past, and retries end by it.
  const accepted = source === undefined ? record.timestamp : (acceptedAt ?? record.timestamp);
  return {
    kind: 'envelope',
    record,
    envelope,
    acceptedAt: accepted,
    traceparent,
    ...(source === undefined ? {} : { source }),
  };
}
