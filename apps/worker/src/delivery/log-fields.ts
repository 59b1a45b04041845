import { traceIdOf } from '@relay/events';
import type { DeliveryJob } from '@relay/retry';

/** What every log line about a delivery names. @param attempt the one that the line is about, the last one made where it is about none */
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
