import { randomBytes } from 'node:crypto';
import { Controller, Inject, Post, Req } from '@nestjs/common';
import { Audit } from '@relay/audit';
import { checkDestination } from '@relay/egress';
import { NOTICE_TYPES } from '@relay/events';
import { Access, StrictBody, type Body, type FastifyRequest } from '@relay/http';
import { OPERATORS } from '@relay/notices';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, policyOf, type OperationsConfig } from '@relay/settings';
import { credentialMembers, WebhookStore } from '@relay/webhooks';
import { z } from 'zod';
import { actorOf } from '../access/role.js';
import { ClientDesk } from '../clients/client-desk.adapter.js';
import { answerOf, textsOf } from '../http/routes.js';

const Text = textsOf('Webhooks');

const eventType = z.enum(NOTICE_TYPES);

const NewNotices = z
  .strictObject({
    url: z.string().trim().min(1).max(2_048).describe('Address that gets the notices.'),
    types: z
      .array(eventType)
      .min(1)
      .max(NOTICE_TYPES.length)
      .default([...NOTICE_TYPES])
      .describe('Only these.'),
    apiKey: credentialMembers.apiKey.describe('Sent to the address as `x-api-key`; made if none is given.'),
  })
  .meta({ id: 'NewNotices', description: "An operators' address for notices about all partners' webhooks." });
type NewNotices = z.infer<typeof NewNotices>;

const AddedNotices = z
  .object({
    webhooks: z.array(
      z.object({
        id: z.string(),
        eventType,
        secret: z.string().describe('Its signing secret, shown this once.'),
        apiKey: z.string().optional().describe('Only if the relay made it.'),
      }),
    ),
    existing: z.array(eventType).describe('Types that the address gets already.'),
  })
  .meta({ id: 'AddedNotices', description: 'One webhook of the operators for each type.' });
type AddedNotices = z.infer<typeof AddedNotices>;

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
  @Text('addNotices', "Send the notices about all partners' webhooks to an address", {
    description: 'The webhooks belong to `operators`; `DELETE /webhooks/{id}` ends one.',
    body: {
      isRequired: true,
      schema: NewNotices,
      example: { url: 'https://ops.example/relay', types: [NOTICE_TYPES[0]] },
    },
    answer: answerOf('The added webhooks.', AddedNotices),
  })
  async add(@StrictBody(NewNotices) body: Body<NewNotices>, @Req() request: FastifyRequest): Promise<AddedNotices> {
    const { url: endPointUrl, types, apiKey: given } = body();
    const { url, origin } = this.#destinationOf(endPointUrl);
    await this.desk.assertKeys();
    const apiKey = given ?? `notices_${randomBytes(16).toString('base64url')}`;
    const added: AddedNotices = { webhooks: [], existing: [] };
    for (const type of new Set(types)) {
      const by = { ...actorOf(request), partnerId: OPERATORS };
      await this.audit.report({ event: 'webhook.registered', ...by, eventType: type, origin });
      const draft = { eventType: type, endPointUrl, ...NAMED, apiKey, url, origin };
      const result = await this.store.register(OPERATORS, draft);
      if (result.kind !== 'created') {
        added.existing.push(type);
        continue;
      }
      const secret = (await this.store.signingSecret(OPERATORS, result.id)) ?? '';
      added.webhooks.push({ id: result.id, eventType: type, secret, ...(given === undefined ? { apiKey } : {}) });
    }
    return added;
  }

  /** @throws ProblemError for an address to which the worker does not deliver */
  #destinationOf(text: string): { readonly url: string; readonly origin: string } {
    const destination = checkDestination(text, policyOf(this.config));
    if (destination.ok) return destination;
    throw new ProblemError('invalid-body', 'The relay does not deliver to this address.', {
      errors: [{ pointer: '/url', detail: destination.detail }],
    });
  }
}
