import { LINK, type OperationText } from '@relay/openapi';
import { WebhookId } from '@relay/webhooks';
import { WebhookQuery, WebhookState, WebhookStates } from './webhook-answers.js';

const tag = 'Webhooks';
const path = { id: { schema: WebhookId, example: '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d' } };
const one = { content: { schema: WebhookState } };

export const listWebhooks: OperationText = {
  id: 'listWebhooks',
  tag,
  summary: 'List webhooks by status and by trouble',
  description:
    'Whatever their number, three reads of Redis find what troubles them; failure rates and oldest deliveries of 10,000 webhooks take some 0.5 s more. They are read for `limit` webhooks only, unless the list is sorted by them.',
  query: WebhookQuery,
  answer: { description: 'The webhooks.', headers: LINK, content: { schema: WebhookStates } },
};

export const readWebhook: OperationText = {
  id: 'readWebhook',
  tag,
  summary: 'Read one webhook',
  path,
  answer: { description: 'The webhook.', ...one },
  problems: ['not-found'],
};

export const disableWebhook: OperationText = {
  id: 'disableWebhook',
  tag,
  summary: 'Disable a webhook',
  description:
    'Its deliveries wait. Only an operator can enable it again, also where it was disabled for another reason before.',
  path,
  answer: { description: 'The disabled webhook.', ...one },
  problems: ['not-found'],
};

export const enableWebhook: OperationText = {
  id: 'enableWebhook',
  tag,
  summary: 'Enable a webhook',
  description: 'An unverified webhook is a conflict: only a test that its partner asks for enables it.',
  path,
  answer: { description: 'The enabled webhook.', ...one },
  problems: ['not-found', 'conflict'],
};

export const deleteWebhook: OperationText = {
  id: 'deleteWebhook',
  tag,
  summary: 'Delete a webhook for good',
  description: 'Its waiting deliveries end as `cancelled`. Its dead letters stay until they are purged.',
  path,
  answer: { description: 'The webhook is deleted.' },
  problems: ['not-found'],
};
