import { examplePayload, subjectOf, type EventType } from '@relay/events';

/** A payload to try the relay with, as JSON text: the example of its type with identifiers of its own. */
export function samplePayload(type: EventType, uuid: () => string): string {
  const members = Object.entries(examplePayload(type)).map(([name, value]) => [name, isId(value) ? uuid() : value]);
  return JSON.stringify({ ...Object.fromEntries(members), name: `a sample ${subjectOf(type).replace('_', ' ')}` });
}

const isId = (value: unknown): boolean =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

/** An envelope around the payload's own text, so that numbers and key order reach the endpoints as they were written. */
export const envelopeText = (id: string, type: EventType, payload: string): string =>
  `{"id":"${id}","type":"${type}","payload":${payload.trim()}}`;
