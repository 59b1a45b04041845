import { randomBytes } from 'node:crypto';
import { Controller, Inject, Post, Req } from '@nestjs/common';
import { Audit } from '@relay/audit';
import { checkDestination } from '@relay/egress';
import { Access, callerIdOf, StrictBody, type Body, type FastifyRequest } from '@relay/http';
import { OPERATORS } from '@relay/notices';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, policyOf, type OperationsConfig } from '@relay/settings';
import { WebhookStore } from '@relay/webhooks';
import { ClientDesk } from '../clients/client-desk.adapter.js';
import { type AddedNotices, NewNotices } from './notice-request.js';
import { addNotices } from './notices.openapi.js';

const NAMED = { endPointName: 'relay notices', endPointDesc: 'for the operators of the relay' };

/** Addresses of operators that get the notices about the webhooks of all partners. */
@Controller('notices')
@Access({ kind: 'operator', role: 'admin' })
export class NoticesController {
  constructor(
    private readonly store: WebhookStore,
    private readonly desk: ClientDesk,
    private readonly audit: Audit,
    @Inject(OPERATIONS_CONFIG) private readonly config: OperationsConfig,
  ) {}

  @Post()
  @Operation(addNotices)
  async add(@StrictBody(NewNotices) body: Body<NewNotices>, @Req() request: FastifyRequest): Promise<AddedNotices> {
    const { url: endPointUrl, types, apiKey: given } = body();
    const { url, origin } = this.#destinationOf(endPointUrl);
    await this.desk.assertKeys();
    const apiKey = given ?? `notices_${randomBytes(16).toString('base64url')}`;
    const added: AddedNotices = { webhooks: [], existing: [] };
    for (const eventType of new Set(types)) {
      const by = { operator: callerIdOf(request), requestId: request.id, partnerId: OPERATORS };
      await this.audit.report({ event: 'webhook.registered', ...by, eventType, origin });
      const draft = { eventType, endPointUrl, ...NAMED, apiKey, url, origin };
      const result = await this.store.register(OPERATORS, draft);
      if (result.kind !== 'created') {
        added.existing.push(eventType);
        continue;
      }
      const secret = (await this.store.signingSecret(OPERATORS, result.id)) ?? '';
      added.webhooks.push({ id: result.id, eventType, secret, ...(given === undefined ? { apiKey } : {}) });
    }
    return added;
  }

  /** @throws ProblemError for an address that the worker does not deliver to */
  #destinationOf(text: string): { readonly url: string; readonly origin: string } {
    const destination = checkDestination(text, policyOf(this.config));
    if (destination.ok) return destination;
    throw new ProblemError('invalid-body', 'The relay does not deliver to this address.', {
      errors: [{ pointer: '/url', detail: destination.detail }],
    });
  }
}
