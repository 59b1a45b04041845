import { traceIdOf } from '@relay/events';
import type { DeliveryJob } from '@relay/jobs';

/** The fields of every log line about a delivery. @param attempt number of the attempt in question, or of the last one */
export const logFieldsOf = (
  delivery: Pick<DeliveryJob, 'envelopeId' | 'eventType' | 'webhookId' | 'traceparent'>,
  attempt: number,
) => ({
  envelopeId: delivery.envelopeId,
  eventType: delivery.eventType,
  webhookId: delivery.webhookId,
  attempt,
  traceId: traceIdOf(delivery.traceparent),
});
