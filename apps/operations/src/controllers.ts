import type { Type } from '@nestjs/common';
import { AuditLogController } from './audit-log/audit-log.controller.js';
import { ClientsController } from './clients/clients.controller.js';
import { DeadLettersController } from './dead-letters/dead-letters.controller.js';
import { EnvelopesController } from './envelopes/envelopes.controller.js';
import { NoticesController } from './notices/notices.controller.js';
import { PageController } from './page/page.controller.js';
import { PortalLinksController } from './portal/portal-links.controller.js';
import { ReplaysController } from './replays/replays.controller.js';
import { SessionController } from './session/session.controller.js';
import { StateController } from './state/state.controller.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';

/** All controllers of the operations app. The board has its own routes. */
export const CONTROLLERS: readonly Type[] = [
  AuditLogController,
  ClientsController,
  DeadLettersController,
  EnvelopesController,
  NoticesController,
  PageController,
  PortalLinksController,
  ReplaysController,
  SessionController,
  StateController,
  WebhooksController,
];
