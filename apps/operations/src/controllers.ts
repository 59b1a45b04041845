import type { Type } from '@nestjs/common';
import { eventTypes } from '@relay/events';
import { type ApiFacts, type ApiParts, openApi, routesOf } from '@relay/openapi';
import { AuditLogController } from './audit-log/audit-log.controller.js';
import { ClientsController, PortalLinksController } from './clients/clients.controller.js';
import { DeadLettersController } from './dead-letters/dead-letters.controller.js';
import { EnvelopesController } from './envelopes/envelopes.controller.js';
import { NoticesController, WebhooksController } from './webhooks/webhooks.controller.js';
import { ConsoleLinksController, PageController, SessionController } from './session/session.controller.js';
import { EventTypesController } from './event-types/event-types.controller.js';
import { ReplaysController } from './replays/replays.controller.js';
import { StateController } from './state/state.controller.js';

/** All controllers of the operations app. The board has its own routes. */
export const CONTROLLERS: readonly Type[] = [
  AuditLogController,
  ClientsController,
  ConsoleLinksController,
  DeadLettersController,
  EnvelopesController,
  EventTypesController,
  NoticesController,
  PageController,
  PortalLinksController,
  ReplaysController,
  SessionController,
  StateController,
  WebhooksController,
];

/**
 * Returns a function that gives the OpenAPI document of these controllers, built again after a change of the event types.
 * @param facts `publicUrl` is the ingress's address
 */
export function documentOf(facts: ApiFacts): () => Buffer {
  let built: { readonly version: number; readonly bytes: Buffer } | undefined;
  return () => {
    if (built?.version !== eventTypes.version) {
      const document = openApi(routesOf(CONTROLLERS), facts, operationsApi(facts.publicUrl));
      built = { version: eventTypes.version, bytes: Buffer.from(JSON.stringify(document)) };
    }
    return built.bytes;
  };
}

/** Returns the parts of the operations app's OpenAPI document that do not come from its routes. */
const operationsApi = (publicUrl: string): ApiParts => ({
  title: 'Partner Relay for operators',
  summary: 'Shows what the relay does, and changes it.',
  description: DESCRIPTION,
  server: '/',
  tags: TAGS,
  securitySchemes: {
    token: {
      type: 'oauth2',
      description: 'An access token of the ingress, as `Authorization: Bearer`.',
      flows: { clientCredentials: { tokenUrl: `${publicUrl}/auth/token`, scopes: SCOPES } },
    },
    operator: { type: 'http', scheme: 'basic', description: 'Client id and client secret of an operator.' },
  },
});

const DESCRIPTION = `Every path but those that open and end a session needs an operator: \`Basic\` with client id and client secret, a token of the ingress, or the session of a browser. The role of the operator decides: \`viewer\` looks, \`operator\` changes as well and reads envelopes, \`admin\` makes and changes clients, deletes webhooks, applies event types and adds addresses for notices as well.

Every error is \`application/problem+json\` (RFC 9457). Every request is answered within 10 s, with 503 while Redis or Kafka is away. \`relay.operations\` has a record of every change, with its operator, before it is made.`;

const SCOPES = {
  'operations:read': 'The role `viewer`.',
  'operations:write': 'The role `operator`.',
  operations: 'The role `admin`.',
};

const TAGS = [
  { name: 'Session', description: 'How the console lets an operator in.' },
  { name: 'State', description: 'What the relay does at the moment.' },
  { name: 'Envelopes', description: 'What became of envelopes, and the search over attempts.' },
  { name: 'Event types', description: 'What sources may send, and partners register for.' },
  { name: 'Webhooks', description: 'Webhooks of all partners, and what troubles them.' },
  { name: 'Dead letters', description: 'Deliveries that were given up.' },
  { name: 'Replays', description: 'Deliveries of a time made again.' },
  { name: 'Clients', description: 'Partners, sources and operators.' },
  { name: 'Audit', description: 'Who changed what.' },
];
