import { readBinaryCloudEvent, readCloudEvent, readEnvelope, type EnvelopeResult } from '@relay/events';
import type { IncomingHttpHeaders } from 'node:http';
import { mediaTypeOf } from '@relay/http';

export const CLOUD_EVENT = 'application/cloudevents+json';
/** Section 3.3 of the HTTP binding. */
export const CLOUD_EVENTS = 'application/cloudevents-batch+json';
const ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time'].map((name) => [name, `ce-${name}`] as const);

/**
 * Reads the envelope of a request to `POST /deliveries`: as it is, or as a CloudEvent by the HTTP binding 1.0.2,
 * structured (section 3.2) by its content type, binary (section 3.1) by its headers. Never throws.
 */
export function readReceived(headers: IncomingHttpHeaders, bytes: Buffer, audience: readonly string[]): EnvelopeResult {
  if (mediaTypeOf(headers) === CLOUD_EVENT) return readCloudEvent(bytes, audience);
  if (ATTRIBUTES.every(([, header]) => headers[header] === undefined)) return readEnvelope(bytes, audience);
  const attributes = Object.fromEntries(ATTRIBUTES.map(([name, header]) => [name, headers[header]?.toString()]));
  return readBinaryCloudEvent(attributes, bytes, audience);
}
