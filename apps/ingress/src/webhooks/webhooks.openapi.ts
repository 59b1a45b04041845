import {
  DeleteInput,
  ListInput,
  shownAttributes,
  SigningSecret,
  WebhookDetails,
  WebhookId,
  WebhookInput,
  WebhookPatch,
  WebhookRecord,
  WebhookReference,
  WebhookUpdate,
} from '@relay/webhooks';
import { z } from 'zod';
import { listOf, operationsOf } from '@relay/openapi';
import { ListQuery } from './listings.js';
import { DraftTestResult, TestResult } from './test-deliveries.js';

const id = '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d';
const path = { id: { schema: WebhookId, example: id } };
const input = {
  eventType: 'task.created',
  endPointUrl: 'https://partner.example/hooks/tasks',
  apiKey: 'key-of-my-endpoint',
  endPointName: 'tasks',
};
const listed = {
  id,
  eventType: input.eventType,
  endPointUrl: input.endPointUrl,
  endPointDesc: null,
  endPointName: input.endPointName,
};
const details = {
  schema: WebhookDetails,
  example: {
    ...listed,
    ...shownAttributes(input),
    status: 'active',
    disabledReason: null,
    waiting: 0,
    createdAt: '2030-01-01T10:00:00.000Z',
    updatedAt: '2030-01-01T10:00:00.000Z',
    credentialType: 'apiKey',
  },
};
const ETAG = { ETag: 'The version of the webhook.' };
const secret = { schema: SigningSecret, example: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' } };
const reference = { schema: WebhookReference, example: { id } };

export const operations = operationsOf('Webhooks', {
  listWebhooks: {
    summary: 'List webhooks',
    description:
      'A JSON body with one credential is optional: the list then has only the webhooks registered with it. Without a token that credential must belong to webhooks of exactly one partner.',
    query: ListQuery,
    body: { isRequired: false, schema: ListInput, example: { apiKey: input.apiKey } },
    answer: listOf('The webhooks, oldest first.', z.array(WebhookRecord), [listed]),
  },
  registerWebhook: {
    summary: 'Register a webhook',
    description:
      'Exactly one of `apiKey`, `jwt`, or `userName` with `password`: the endpoint gets it with every delivery.',
    body: { isRequired: true, schema: WebhookInput, example: input },
    answer: { description: 'It is registered.', headers: { Location: 'Path of the webhook.' }, content: reference },
    problems: ['conflict'],
  },
  updateWebhook: {
    summary: 'Replace all attributes of a webhook',
    description: 'Without `id`: the only webhook of that event type; 409 with `ids` if there are several.',
    body: { isRequired: true, schema: WebhookUpdate, example: input },
    answer: { description: 'It is replaced.', content: reference },
    problems: ['not-found', 'conflict'],
  },
  deleteWebhook: {
    summary: 'Delete a webhook',
    description: 'Without `id`: the only webhook of that event type; 409 with `ids` if there are several.',
    body: { isRequired: true, schema: DeleteInput, example: { eventType: input.eventType, id } },
    answer: { description: 'The webhook is deleted; its waiting deliveries are cancelled.', content: reference },
    problems: ['not-found', 'conflict'],
  },
  readWebhookSecret: {
    summary: 'Read the secret that deliveries are signed with',
    path,
    answer: { description: 'The secret, in the format of Standard Webhooks.', content: secret },
    problems: ['not-found'],
  },
  readWebhook: {
    summary: 'Read a webhook with its state',
    path,
    answer: { description: 'The webhook.', headers: ETAG, content: details },
    problems: ['not-found'],
  },
  patchWebhook: {
    summary: 'Change some attributes of a webhook',
    description:
      'A webhook as `GET` shows it can be sent back with its changes. An unknown member, and another value of what a patch cannot change, is 400. Another URL or credential makes a webhook active that is disabled as `gone` or `failing`; nothing else here changes its state.',
    path,
    body: { isRequired: true, schema: WebhookPatch, example: { endPointName: 'all tasks' } },
    answer: { description: 'The webhook as it is now.', headers: ETAG, content: details },
    problems: ['not-found', 'conflict'],
  },
  removeWebhook: {
    summary: 'Delete a webhook by its id',
    path,
    answer: { description: 'The webhook is deleted; its waiting deliveries are cancelled.' },
    problems: ['not-found'],
  },
  rotateWebhookSecret: {
    summary: 'Replace the secret that deliveries are signed with',
    description:
      'Each former secret also signs for 24 hours after its rotation; at most three secrets sign a delivery. A call within 60 s of the last rotation answers the same new secret, so that a call that timed out can be repeated.',
    path,
    answer: { description: 'The new secret.', content: secret },
    problems: ['not-found'],
  },
  enableWebhook: {
    summary: 'Make a webhook active again',
    description:
      'What an operator of the relay disabled stays disabled (409): only an operator enables it. An `unverified` webhook gets a test delivery first, and stays disabled (409) unless its endpoint answers 2xx.',
    path,
    answer: { description: 'The webhook as it is now.', headers: ETAG, content: details },
    problems: ['not-found', 'conflict'],
  },
  disableWebhook: {
    summary: 'Stop deliveries to a webhook',
    description: 'Its deliveries wait until it is enabled. A disabled webhook keeps its `disabledReason`.',
    path,
    answer: {
      description: 'The webhook as it is now.',
      headers: ETAG,
      content: { ...details, example: { ...details.example, status: 'disabled', disabledReason: 'partner' } },
    },
    problems: ['not-found'],
  },
  testWebhook: {
    summary: 'Send a sample to the endpoint now',
    description:
      'One attempt with the credential and signature of a real delivery, marked `relay-test: true`; at most six a minute for one webhook. An `unverified` webhook is active once its endpoint answers 2xx.',
    path,
    answer: {
      description: 'What became of the attempt.',
      content: { schema: TestResult, example: { envelopeId: id, delivered: true, status: 204, durationMs: 41 } },
    },
    problems: ['not-found'],
  },
  testDraft: {
    summary: 'Send a sample to an endpoint before its webhook is registered',
    description:
      'The body is that of `POST /webhooks`; no webhook is made, and the credential is kept nowhere. One attempt as of `POST /webhooks/{id}/test`, at most six a minute of a partner. A secret that is made for this test signs it, and the answer shows it: an endpoint that verifies signatures cannot know it, and refuses the test. Verify what the endpoint received with it.',
    body: { isRequired: true, schema: WebhookInput, example: input },
    answer: {
      description: 'What became of the attempt.',
      content: {
        schema: DraftTestResult,
        example: { envelopeId: id, delivered: true, status: 204, durationMs: 41, secret: secret.example.secret },
      },
    },
  },
});
