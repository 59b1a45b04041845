// Owns the registrations of partners: their shapes, their state in Redis, and the worker's view of them in memory.
// Guarantees that every change is one deterministic command, whose script enforces uniqueness and limits. Changes of one
// webhook are applied completely and one after the other. A reader that asks for a registry version gets at least that
// version. Credentials and signing secrets are encrypted in Redis and in the log, and no record or result contains them in
// clear text.
// Leaves to others how a command gets into the log and to Redis (registry), whether a URL is a permitted destination
// (egress), who the caller is (access), and the requests to the endpoints (delivery).
export { credentialMembers, credentialOf, type Credential } from './credential.js';
export { FAILING, webhookKeys, webhookParts, applyWebhookLua } from './webhook.script.js';
export { RedisSealedWebhooks } from './redis-sealed-webhooks.adapter.js';
export { WebhookStore } from './redis-webhook-store.adapter.js';
export type { ChangeResult, Listing, Page, RegisteredWebhook, Versions } from './redis-webhook-store.adapter.js';
export { RedisWebhookView, breakerKeysOf, type OpenedWebhook, type Webhook } from './redis-webhook-view.adapter.js';
export { newSigningSecret, type WebhookDraft } from './webhook-changes.js';
export { disableTold, enableTold, type ToldChange } from './redis-webhook-store.adapter.js';
export { CommandResult, ENABLED, UNVERIFIED, type WebhookCommand } from './stored-webhooks.adapter.js';
export { DeleteInput, EventTypeName, ListInput, SigningSecret, WebhookDetails, WebhookId } from './webhook.js';
export {
  namedAttributes,
  OPTIONAL_NAMES,
  shownAttributes,
  WebhookInput,
  WebhookPatch,
  patchFaults,
  WebhookRecord,
  WebhookReference,
  WebhookUpdate,
} from './webhook.js';
