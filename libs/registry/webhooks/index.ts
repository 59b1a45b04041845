// Owns the registrations of partners: their shapes, their state in Redis and the worker's view of them in memory.
// Guarantees that every change is one deterministic command whose script enforces uniqueness and limits, that changes of one
// webhook are applied whole and one after the other, that a reader which asks for a registry version gets at least that version,
// and that credentials and signing secrets are sealed at rest and appear in no record or result.
// Leaves to others how a command gets into the log and to Redis (registry), whether a URL is a permitted destination (egress), the
// identity of the caller (access), and the requests (delivery).
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
