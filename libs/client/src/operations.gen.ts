// Made from docs/openapi.json: `npx node scripts/docs.mjs` makes it anew. Do not edit.
import type {
  CancelReplayData,
  CancelReplayResponses,
  CreateSessionData,
  CreateSessionResponses,
  DeleteWebhookData,
  DeleteWebhookResponses,
  EnableWebhookData,
  EnableWebhookResponses,
  EndSessionData,
  EndSessionResponses,
  ListDeliveriesData,
  ListDeliveriesResponses,
  ListWebhooksData,
  ListWebhooksResponses,
  PatchWebhookData,
  PatchWebhookResponses,
  ReadDeliveriesData,
  ReadDeliveriesResponses,
  ReadReplayData,
  ReadReplayResponses,
  ReadSessionData,
  ReadSessionResponses,
  ReadWebhookData,
  ReadWebhookResponses,
  ReadWebhookSecretData,
  ReadWebhookSecretResponses,
  RegisterWebhookData,
  RegisterWebhookResponses,
  RemoveWebhookData,
  RemoveWebhookResponses,
  ReplayWebhookData,
  ReplayWebhookResponses,
  RetryDeliveriesData,
  RetryDeliveriesResponses,
  RotateWebhookSecretData,
  RotateWebhookSecretResponses,
  SendBatchData,
  SendBatchResponses,
  SendEnvelopeData,
  SendEnvelopeResponses,
  TestWebhookData,
  TestWebhookResponses,
  UpdateWebhookData,
  UpdateWebhookResponses,
} from './api.gen.js';

/** What each operation takes and answers. */
export interface Operations {
  createSession: { data: CreateSessionData; responses: CreateSessionResponses };
  readSession: { data: Omit<ReadSessionData, 'body'>; responses: ReadSessionResponses };
  endSession: { data: EndSessionData; responses: EndSessionResponses };
  sendEnvelope: { data: SendEnvelopeData; responses: SendEnvelopeResponses };
  readDeliveries: { data: Omit<ReadDeliveriesData, 'body'>; responses: ReadDeliveriesResponses };
  retryDeliveries: { data: RetryDeliveriesData; responses: RetryDeliveriesResponses };
  sendBatch: { data: SendBatchData; responses: SendBatchResponses };
  readReplay: { data: Omit<ReadReplayData, 'body'>; responses: ReadReplayResponses };
  cancelReplay: { data: CancelReplayData; responses: CancelReplayResponses };
  listWebhooks: { data: Omit<ListWebhooksData, 'body'>; responses: ListWebhooksResponses };
  registerWebhook: { data: RegisterWebhookData; responses: RegisterWebhookResponses };
  updateWebhook: { data: UpdateWebhookData; responses: UpdateWebhookResponses };
  deleteWebhook: { data: DeleteWebhookData; responses: DeleteWebhookResponses };
  readWebhook: { data: Omit<ReadWebhookData, 'body'>; responses: ReadWebhookResponses };
  patchWebhook: { data: PatchWebhookData; responses: PatchWebhookResponses };
  removeWebhook: { data: RemoveWebhookData; responses: RemoveWebhookResponses };
  listDeliveries: { data: Omit<ListDeliveriesData, 'body'>; responses: ListDeliveriesResponses };
  enableWebhook: { data: EnableWebhookData; responses: EnableWebhookResponses };
  replayWebhook: { data: ReplayWebhookData; responses: ReplayWebhookResponses };
  readWebhookSecret: { data: Omit<ReadWebhookSecretData, 'body'>; responses: ReadWebhookSecretResponses };
  rotateWebhookSecret: { data: RotateWebhookSecretData; responses: RotateWebhookSecretResponses };
  testWebhook: { data: TestWebhookData; responses: TestWebhookResponses };
}

/** Method and path of each operation. */
export const OPERATIONS = {
  createSession: ['POST', '/auth/{userId}/session'],
  readSession: ['GET', '/auth/session/{sessionId}'],
  endSession: ['DELETE', '/auth/session/{sessionId}'],
  sendEnvelope: ['POST', '/deliveries'],
  readDeliveries: ['GET', '/deliveries/{envelopeId}'],
  retryDeliveries: ['POST', '/deliveries/{envelopeId}/retry'],
  sendBatch: ['POST', '/deliveries/batch'],
  readReplay: ['GET', '/replays/{id}'],
  cancelReplay: ['DELETE', '/replays/{id}'],
  listWebhooks: ['GET', '/webhooks'],
  registerWebhook: ['POST', '/webhooks'],
  updateWebhook: ['PUT', '/webhooks'],
  deleteWebhook: ['DELETE', '/webhooks'],
  readWebhook: ['GET', '/webhooks/{id}'],
  patchWebhook: ['PATCH', '/webhooks/{id}'],
  removeWebhook: ['DELETE', '/webhooks/{id}'],
  listDeliveries: ['GET', '/webhooks/{id}/deliveries'],
  enableWebhook: ['POST', '/webhooks/{id}/enable'],
  replayWebhook: ['POST', '/webhooks/{id}/replay'],
  readWebhookSecret: ['GET', '/webhooks/{id}/secret'],
  rotateWebhookSecret: ['POST', '/webhooks/{id}/secret/rotate'],
  testWebhook: ['POST', '/webhooks/{id}/test'],
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>;
