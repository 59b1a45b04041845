import { WebhookId } from '@relay/webhooks';
import type { OperationText } from '@relay/openapi';
import { DeliveryAnswers } from './delivery-facts.js';
import { HistoryQuery } from './history-query.js';
import { EnvelopeId, RetryAnswer, RetryRequest } from './retry-request.js';

const tag = 'Webhooks';
const webhookId = '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d';
const envelopeId = '5b0a7a7e-3b9b-4c1e-9a64-0d6f1a2b3c4d';
const envelope = { envelopeId: { schema: EnvelopeId, example: envelopeId } };
const content = {
  schema: DeliveryAnswers,
  example: {
    deliveries: [
      {
        envelopeId,
        webhookId,
        status: 'delivered',
        at: '2030-01-01T10:00:05.231Z',
        nextAttemptAt: null,
        reason: null,
        attempts: [
          { at: '2030-01-01T10:00:00.020Z', durationMs: 38, status: 500, detail: 'answered 500' },
          { at: '2030-01-01T10:00:05.190Z', durationMs: 41, status: 204 },
        ],
      },
    ],
  },
};
const KEPT =
  'A successful delivery is kept for a day unless the operator says otherwise, and shown up to a second later; any other until it succeeds. Not listed are running first attempts and deliveries that wait in the log for a `parked` webhook.';

export const listDeliveries: OperationText = {
  id: 'listDeliveries',
  tag,
  summary: 'List the deliveries of a webhook',
  description: KEPT,
  path: { id: { schema: WebhookId, example: webhookId } },
  query: HistoryQuery,
  answer: {
    description: 'The deliveries, newest first.',
    headers: { Link: 'The next page, as `rel="next"` (RFC 8288), if there is one.' },
    content,
  },
  problems: ['not-found'],
};

export const readDeliveries: OperationText = {
  id: 'readDeliveries',
  tag,
  summary: 'Read what became of an envelope at your webhooks',
  description: KEPT,
  path: envelope,
  answer: { description: 'Its deliveries to your webhooks, newest first, at most 1,000 successful ones.', content },
  problems: ['not-found'],
};

export const retryDeliveries: OperationText = {
  id: 'retryDeliveries',
  tag,
  summary: 'Try the deliveries of an envelope now',
  description:
    'A waiting delivery is attempted now and keeps its place in the schedule; a dead one starts the schedule again.',
  path: envelope,
  body: { isRequired: false, schema: RetryRequest, example: { webhookId } },
  answer: {
    description: 'They are due now; each is attempted when its endpoint has room.',
    content: { schema: RetryAnswer, example: { retried: 1 } },
  },
  problems: ['not-found', 'conflict', 'unavailable'],
};
