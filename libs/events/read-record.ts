import { z } from 'zod';
import { NOTICE_TYPES } from './event-type.js';
import { eventTypeName, eventTypes } from './event-types.js';
import { readLogged, readNotice, type AcceptedEnvelope } from './read-envelope.js';
import { noticesTopic, topicOf } from './topic.js';
import { isTraceparent } from './traceparent.js';

/**
 * Headers of an envelope's record, as UTF-8 text: those of CloudEvents 1.0 in binary mode, and those that the relay adds.
 */
export const EnvelopeHeaders = z
  .object({
    ce_specversion: z.literal('1.0'),
    ce_id: z.guid().describe("The envelope's id, in lower case; the same on a repeated record."),
    ce_type: eventTypeName('sendable'),
    ce_source: z.string().describe('Source of the CloudEvent that was sent, else the public address of the relay.'),
    ce_time: z.iso.datetime().describe('When the relay accepted it.'),
    'content-type': z.literal('application/json'),
    'relay-source': z.string().describe('Client id of the source that sent it.'),
    traceparent: z.string().optional().describe('W3C Trace Context.'),
    ce_dataschema: z.url().optional().describe('JSON Schema by which an event type of an operator was accepted.'),
    'relay-event-time': z.string().optional().describe('Time of the CloudEvent that was sent, by its producer.'),
    'relay-partner': z.string().optional().describe('Client ids of the only partners it is for, joined by commas.'),
  })
  .meta({ id: 'EnvelopeHeaders' });
export type EnvelopeHeaders = z.infer<typeof EnvelopeHeaders>;

export const NoticeHeaders = EnvelopeHeaders.omit({ ce_dataschema: true })
  .extend({
    ce_type: z.enum(NOTICE_TYPES),
    ce_source: z.literal('partner-relay'),
    ce_time: z.iso.datetime().describe('When the relay told it.'),
    'relay-source': z.literal('relay'),
    'relay-partner': z.string().describe('Client id of the partner whose webhook it is about, and `operators`.'),
  })
  .meta({ id: 'NoticeHeaders' });

/** Headers of a poison record, which is a record that is not a valid envelope. */
export const PoisonHeaders = z
  .object({
    'relay-reason': z.string().describe('Why the record is not an envelope.'),
    'relay-topic': z.string().describe('Where it was found.'),
    'relay-partition': z.string().regex(/^\d+$/),
    'relay-offset': z.string().regex(/^\d+$/),
    'relay-truncated': z
      .string()
      .regex(/^\d+$/)
      .optional()
      .describe('Length of the record in bytes, if it was too large to be stored whole.'),
  })
  .meta({ id: 'PoisonHeaders' });

interface RecordOrigin {
  envelope: AcceptedEnvelope;
  /** Client id of the source that sent the envelope. */
  source: string;
  /** Value of `ce_source` if the envelope was not sent as a CloudEvent: a URI reference that names this relay. */
  ceSource: string;
  /** Epoch milliseconds. */
  acceptedAt: number;
  traceparent?: string;
}

/** Value of a Kafka header: an array if the header is repeated, null if it has no value. */
export type HeaderValue = Buffer | string | (Buffer | string)[] | null | undefined;

/** The facts that a worker reads from the headers of a record. */
interface RecordFacts {
  /**
   * Client ids of the only partners that the record is for, as in `AcceptedEnvelope`. An empty array means all partners. If
   * the header `relay-partner` is present but contains no id, the array contains one empty string. No partner has this id, so
   * the record is for no partner.
   */
  audience: string[];
  /**
   * Epoch milliseconds of `ce_time`. A foreign producer (not the relay) writes the time of the event there, which may be
   * long before the record was written.
   */
  acceptedAt?: number;
  traceparent?: string;
  source?: string;
}

// RFC 3339 section 5.6. `Date.parse` alone would also accept dates of other forms without this pattern.
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i;

/** Returns the headers of an envelope's record: CloudEvents 1.0 in Kafka's binary mode, and those that the relay adds. */
export function recordHeaders(origin: RecordOrigin): Record<string, string> {
  const { envelope, traceparent } = origin;
  const { source: ceSource = origin.ceSource, time } = envelope.event ?? {};
  return {
    ce_specversion: '1.0',
    ce_id: envelope.id,
    ce_type: envelope.type,
    ce_source: ceSource,
    ce_time: new Date(origin.acceptedAt).toISOString(),
    'content-type': 'application/json',
    'relay-source': origin.source,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(time === undefined ? {} : { 'relay-event-time': time }),
    ...dataSchemaOf(envelope.type, origin.ceSource),
    ...(envelope.audience.length === 0 ? {} : { 'relay-partner': envelope.audience.join(',') }),
  } satisfies Omit<EnvelopeHeaders, 'ce_type'> & { ce_type: string };
}

/**
 * Returns the URL of the schema by which the envelope was accepted. Schemas are public, so a type that is limited to certain
 * partners gets no URL.
 */
function dataSchemaOf(type: string, publicUrl: string): { ce_dataschema?: string } {
  const applied = eventTypes.applied(type);
  if (applied?.schema === undefined || applied.partners !== undefined) return {};
  return { ce_dataschema: `${publicUrl}/schemas/${type}/${applied.revision}.json` };
}

/** Reads the headers of a record from any producer, and leaves out values of an unknown form. Never throws. */
export function readRecordHeaders(headers: Record<string, HeaderValue>): RecordFacts {
  const [time = ''] = texts(headers['ce_time']);
  const [traceparent = ''] = texts(headers['traceparent']);
  const [source = ''] = texts(headers['relay-source']);
  const acceptedAt = RFC_3339.test(time) ? Date.parse(time) : Number.NaN;
  return {
    audience: audienceOf(headers['relay-partner']),
    ...(Number.isNaN(acceptedAt) ? {} : { acceptedAt }),
    ...(isTraceparent(traceparent) ? { traceparent } : {}),
    ...(source === '' ? {} : { source }),
  };
}

function audienceOf(value: HeaderValue): string[] {
  if (value === undefined) return [];
  const names = texts(value).flatMap((text) => text.split(',').map((name) => name.trim()));
  const partners = new Set(names.filter((name) => name !== ''));
  // The header was meant to limit the record, but an empty list means all partners. So an empty name is returned.
  return partners.size === 0 ? [''] : [...partners].toSorted();
}

function texts(value: HeaderValue): string[] {
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}

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
  envelope: AcceptedEnvelope;
  /** Epoch milliseconds at which the envelope was accepted; see `waitedSince` for the exception. */
  acceptedAt: number;
  /**
   * Epoch milliseconds at which the envelope was accepted. It is set if `acceptedAt` is later, because `acceptedAt` then
   * does not include the time that the record waited in the log.
   */
  waitedSince?: number;
  traceparent: string | undefined;
  /** Client id of the source that sent the envelope; undefined if a foreign producer wrote the record. */
  source?: string;
}

export type ReadRecord = EnvelopeRecord | { kind: 'poison'; record: LogRecord; reason: string };

/** Reads a record of the log, whether the relay or a foreign producer wrote it. */
export function readRecord(record: LogRecord, topic: string, prefix: string): ReadRecord {
  const { value } = record;
  if (value === null) return { kind: 'poison', record, reason: 'the record has no value' };
  const { audience, acceptedAt, traceparent, source } = readRecordHeaders(record.headers);
  const result = (topic === noticesTopic(prefix) ? readNotice : readLogged)(value, audience);
  if (!result.ok) {
    const reason = result.errors.map((error) => `${error.pointer} ${error.detail}`.trim()).join(' ');
    return { kind: 'poison', record, reason };
  }
  const { envelope } = result;
  if (topicOf(prefix, envelope.type) !== topic) {
    return { kind: 'poison', record, reason: `its type ${envelope.type} does not belong into this topic` };
  }
  // `ce_time` is the time of acceptance only if the relay wrote it. A foreign producer may write a time long past, and
  // retries end a fixed time after `acceptedAt`.
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
