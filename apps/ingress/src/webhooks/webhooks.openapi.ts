import {
  DeleteInput,
  ListInput,
  SigningSecret,
  WebhookId,
  WebhookInput,
  WebhookRecord,
  WebhookReference,
  WebhookUpdate,
} from '@relay/webhooks';
import { z } from 'zod';
import type { OperationText } from '../documents/operation.decorator.js';
import { ListQuery } from './list-query.js';

const tag = 'Webhooks';
const id = '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d';
const pathId = { schema: WebhookId, example: id };
const input = {
  eventType: 'task.created',
  endPointUrl: 'https://partner.example/hooks/tasks',
  apiKey: 'key-of-my-endpoint',
  endPointName: 'tasks',
};
const reference = { schema: WebhookReference, example: { id } };

export const listWebhooks: OperationText = {
  id: 'listWebhooks',
  tag,
  summary: 'List webhooks',
  description:
    'A JSON body with one credential may come along: then only the webhooks registered with it are listed. Without a token that credential must be of webhooks of exactly one partner.',
  query: ListQuery,
  body: { isRequired: false, schema: ListInput, example: { apiKey: input.apiKey } },
  answer: {
    description: 'The webhooks, oldest first.',
    headers: { Link: 'The next page, as `rel="next"` (RFC 8288), if there is one.' },
    content: {
      schema: z.array(WebhookRecord),
      example: [
        { id, eventType: input.eventType, endPointUrl: input.endPointUrl, endPointDesc: null, endPointName: 'tasks' },
      ],
    },
  },
};

export const registerWebhook: OperationText = {
  id: 'registerWebhook',
  tag,
  summary: 'Register a webhook',
  description:
    'Exactly one of `apiKey`, `jwt`, or `userName` with `password`: the endpoint gets it with every delivery.',
  body: { isRequired: true, schema: WebhookInput, example: input },
  answer: {
    description: 'It is registered.',
    headers: { Location: 'Path of the webhook.' },
    content: reference,
  },
  problems: ['conflict'],
};

export const updateWebhook: OperationText = {
  id: 'updateWebhook',
  tag,
  summary: 'Replace all attributes of a webhook',
  description: 'Without `id` the only webhook of that event type is meant; 409 with `ids` if there are several.',
  body: { isRequired: true, schema: WebhookUpdate, example: input },
  answer: { description: 'It is replaced.', content: reference },
  problems: ['not-found', 'conflict'],
};

export const deleteWebhook: OperationText = {
  id: 'deleteWebhook',
  tag,
  summary: 'Delete a webhook',
  description: 'Without `id` the only webhook of that event type is meant; 409 with `ids` if there are several.',
  body: { isRequired: true, schema: DeleteInput, example: { eventType: input.eventType, id } },
  answer: { description: 'It is deleted; what waits for it is cancelled.', content: reference },
  problems: ['not-found', 'conflict'],
};

export const readWebhookSecret: OperationText = {
  id: 'readWebhookSecret',
  tag,
  summary: 'Read the secret that deliveries are signed with',
  path: { id: pathId },
  answer: {
    description: 'The secret, as Standard Webhooks has it.',
    content: { schema: SigningSecret, example: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' } },
  },
  problems: ['not-found'],
};
