import type { EventType } from '@relay/events';

/** A payload to try the relay with, as JSON text; that of a task has the fields of the specification. */
export function samplePayload(type: EventType, uuid: () => string): string {
  const [subject = ''] = type.split('.');
  const ids =
    subject === 'task' ? { id: uuid(), userId: uuid(), financialPlanId: uuid() } : { id: uuid(), userId: uuid() };
  return JSON.stringify({ ...ids, name: `a sample ${subject.replace('_', ' ')}` });
}

/** An envelope around the payload's own text, so that numbers and key order reach the endpoints as they were written. */
export const envelopeText = (id: string, type: EventType, payload: string): string =>
  `{"id":"${id}","type":"${type}","payload":${payload.trim()}}`;
