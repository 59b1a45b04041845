import { WebhookId } from '@relay/webhooks';
import type { OperationText } from '../documents/operation.decorator.js';
import { ReplayAnswer, ReplayId, ReplayRequest } from './replay.js';

const tag = 'Webhooks';
const webhookId = '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d';
const id = 'b8d1a0c2-4f5e-4a6b-9c7d-8e9f0a1b2c3d';
const running = {
  schema: ReplayAnswer,
  example: {
    id,
    webhookId,
    status: 'all',
    since: '2030-01-01T00:00:00.000Z',
    until: null,
    state: 'running',
    matched: 12_000,
    done: 4_210,
    failed: 3,
    ratePerSecond: 390.5,
    secondsLeft: 19.9,
    createdAt: '2030-01-02T08:00:00.000Z',
    endedAt: null,
  },
};

export const replayWebhook: OperationText = {
  id: 'replayWebhook',
  tag,
  summary: 'Deliver the envelopes of a time once more',
  description:
    'Beside whatever comes, within the same limits, with the same `webhook-id` each, and counted anew in `relay-attempt`. The log keeps envelopes for seven days unless the operator says otherwise. With `status: failed` only those of which the webhook has a dead letter; each letter becomes a delivery that is due at once, and what fails once more is a dead letter again. One replay of a webhook at a time: while another runs, 409 with its `id`.',
  path: { id: { schema: WebhookId, example: webhookId } },
  body: { isRequired: false, schema: ReplayRequest, example: { since: '2030-01-01T00:00:00Z', dryRun: false } },
  answer: {
    description: 'It is ordered, or counted only.',
    content: running,
    headers: { Location: 'Where its progress is read; not after a dry run.' },
  },
  problems: ['not-found', 'conflict', 'unavailable'],
};

export const readReplay: OperationText = {
  id: 'readReplay',
  tag,
  summary: 'Read how far a replay is',
  description: 'Remembered for 30 days, the newest 20 of a webhook.',
  path: { id: { schema: ReplayId, example: id } },
  answer: { description: 'The replay.', content: running },
  problems: ['not-found'],
};

export const cancelReplay: OperationText = {
  id: 'cancelReplay',
  tag,
  summary: 'End a replay',
  description:
    'Within a second or two; what it has handed over by then is still delivered. One that has ended stays as it is.',
  path: { id: { schema: ReplayId, example: id } },
  answer: { description: 'It has ended or is ending.' },
  problems: ['not-found', 'unavailable'],
};
