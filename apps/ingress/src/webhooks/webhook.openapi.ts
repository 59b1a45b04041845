import { SigningSecret, WebhookDetails, WebhookId, WebhookPatch } from '@relay/webhooks';
import { z } from 'zod';
import type { OperationText } from '../documents/operation.decorator.js';
import { TestResult } from './test-deliveries.js';

const tag = 'Webhooks';
const id = '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d';
const path = { id: { schema: WebhookId, example: id } };
const headers = z.object({
  'if-match': z
    .string()
    .regex(/^(?:\*|"\d{1,15}")$/)
    .optional()
    .describe('The `ETag` that was read: the change is made only while it is still right.'),
});
const details = {
  schema: WebhookDetails,
  example: {
    id,
    eventType: 'task.created',
    endPointUrl: 'https://partner.example/hooks/tasks',
    endPointDesc: null,
    endPointName: 'tasks',
    status: 'active',
    disabledReason: null,
    waiting: 0,
    createdAt: '2030-01-01T10:00:00.000Z',
    updatedAt: '2030-01-01T10:00:00.000Z',
    credentialType: 'apiKey',
  },
};
const ETAG = { ETag: 'The version of the webhook.' };

export const readWebhook: OperationText = {
  id: 'readWebhook',
  tag,
  summary: 'Read a webhook with its state',
  path,
  answer: { description: 'The webhook.', headers: ETAG, content: details },
  problems: ['not-found'],
};

export const patchWebhook: OperationText = {
  id: 'patchWebhook',
  tag,
  summary: 'Change some attributes of a webhook',
  path,
  headers,
  body: { isRequired: true, schema: WebhookPatch, example: { endPointName: 'all tasks' } },
  answer: { description: 'The webhook as it is now.', headers: ETAG, content: details },
  problems: ['not-found', 'conflict', 'precondition-failed'],
};

export const removeWebhook: OperationText = {
  id: 'removeWebhook',
  tag,
  summary: 'Delete a webhook by its id',
  path,
  headers,
  answer: { description: 'It is deleted; what waits for it is cancelled.' },
  problems: ['not-found', 'precondition-failed'],
};

export const rotateWebhookSecret: OperationText = {
  id: 'rotateWebhookSecret',
  tag,
  summary: 'Replace the secret that deliveries are signed with',
  description:
    'The secret before signs along for 24 hours: every delivery then has two signatures. Its predecessor ends at once.',
  path,
  answer: {
    description: 'The new secret.',
    content: { schema: SigningSecret, example: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' } },
  },
  problems: ['not-found'],
};

export const enableWebhook: OperationText = {
  id: 'enableWebhook',
  tag,
  summary: 'Make a webhook active again',
  description:
    'One that is `unverified` is sent a test delivery first, and stays disabled (409) unless that is answered 2xx.',
  path,
  answer: { description: 'The webhook as it is now.', headers: ETAG, content: details },
  problems: ['not-found', 'conflict'],
};

export const testWebhook: OperationText = {
  id: 'testWebhook',
  tag,
  summary: 'Send a sample to the endpoint now',
  description:
    'One attempt with the credential and signature of a real delivery, marked `relay-test: true`; at most six a minute for one webhook. One that is `unverified` is active once it answers 2xx.',
  path,
  answer: {
    description: 'What became of the attempt.',
    content: { schema: TestResult, example: { envelopeId: id, delivered: true, status: 204, durationMs: 41 } },
  },
  problems: ['not-found'],
};
