import type { EnvelopeHeaders } from './header-schemas.js';
import type { EnvelopeType } from './notice-type.js';
import type { AcceptedEnvelope } from './read-envelope.js';
import { isTraceparent } from './traceparent.js';

/** The source of the headers of an envelope's record. */
export interface RecordOrigin {
  envelope: AcceptedEnvelope<EnvelopeType>;
  /** Client id of the source that sent it. */
  source: string;
  /** CloudEvents source of an envelope that is no CloudEvent: a URI reference that names this relay. */
  ceSource: string;
  /** Epoch milliseconds. */
  acceptedAt: number;
  /** W3C Trace Context. */
  traceparent?: string;
}

/** A Kafka header of kafkajs: an array for a repeated one, null for one without a value. */
export type HeaderValue = Buffer | string | (Buffer | string)[] | null | undefined;

/** The facts that the worker reads from a record's headers. */
export interface RecordFacts {
  /** As in AcceptedEnvelope. A `relay-partner` header without a name gives one empty name, which is no partner's. */
  audience: string[];
  /** Epoch milliseconds of `ce_time`. Of a foreign producer it is the time of the event, perhaps long before the record. */
  acceptedAt?: number;
  traceparent?: string;
  source?: string;
}

// RFC 3339 section 5.6; Date.parse alone also takes dates of other forms.
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i;

/** The headers of an envelope's record: binary mode of the CloudEvents 1.0 Kafka binding, and what the relay adds. */
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
    ...(envelope.audience.length === 0 ? {} : { 'relay-partner': envelope.audience.join(',') }),
  } satisfies Omit<EnvelopeHeaders, 'ce_type'> & { ce_type: string };
}

/** Reads the headers of any producer's record, without those of an unknown form. Never throws. */
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
  // Fail closed: the header was meant to limit the record, and an empty audience would mean all partners.
  return partners.size === 0 ? [''] : [...partners].toSorted();
}

function texts(value: HeaderValue): string[] {
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}
