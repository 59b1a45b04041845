import { randomBytes } from 'node:crypto';
import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { Audit } from '@relay/audit';
import { checkDestination } from '@relay/egress';
import { NOTICE_TYPES } from '@relay/events';
import { CountsQuery, HourCounts } from '@relay/history';
import { Access, type Body, type FastifyRequest, readQuery, StrictBody } from '@relay/http';
import { Notices, OPERATORS } from '@relay/notices';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, type OperationsConfig, policyOf } from '@relay/settings';
import { credentialMembers, disableTold, enableTold, type Webhook, WebhookId, WebhookStore } from '@relay/webhooks';
import { z } from 'zod';
import { actorOf } from '../access/operator-guard.js';
import { ClientDesk } from '../clients/client-desk.adapter.js';
import { answerOf, type Asked, listOf, ListQuery, textsOf } from '../http/routes.js';
import { WebhookList, WebhookQuery, WebhookState, WebhookStates } from './webhook-states.adapter.js';

const Text = textsOf('Webhooks');
const path = { id: { schema: WebhookId, example: '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d' } };

/** Routes for the webhooks of all partners. A record on `relay.operations` precedes each change. */
@Controller('webhooks')
@Access({ kind: 'operator', role: 'viewer' })
export class WebhooksController {
  constructor(
    private readonly states: WebhookStates,
    private readonly store: WebhookStore,
    private readonly audit: Audit,
    private readonly notices: Notices,
  ) {}

  @Get()
  @Text('listWebhooks', 'List webhooks by status and by trouble', {
    description:
      'Whatever their number, three reads of Redis find what troubles them; failure rates and oldest deliveries of 10,000 webhooks take some 0.5 s more. They are read for `limit` webhooks only, unless the list is sorted by them.',
    query: WebhookQuery,
    answer: listOf('The webhooks.', WebhookList),
  })
  async list(@ListQuery(WebhookQuery) { query, linkTo }: Asked<WebhookQuery>): Promise<z.infer<typeof WebhookList>> {
    const page = await this.states.list(query);
    const end = query.cursor + query.limit;
    linkTo(end < page.total ? end : undefined);
    return page;
  }

  @Get(':id')
  @Text('readWebhook', 'Read one webhook', {
    path,
    answer: answerOf('The webhook.', WebhookState),
    problems: ['not-found'],
  })
  async read(@Param('id') given: string): Promise<WebhookState> {
    const found = await this.states.read(readId(given));
    if (found === undefined) throw notFound();
    return found;
  }

  @Get(':id/counts')
  @Text('countWebhookAttempts', 'Count the attempts of a webhook by the hour', {
    description: 'Kept for `HISTORY_WINDOW`.',
    path,
    query: CountsQuery,
    answer: answerOf('The counts.', HourCounts),
    problems: ['not-found'],
  })
  async counts(@Param('id') given: string, @Query() query: unknown): Promise<HourCounts> {
    const period = readQuery(CountsQuery, query);
    return this.states.hours((await this.#find(given)).id, period);
  }

  @Post(':id/disable')
  @HttpCode(200)
  @Access({ kind: 'operator', role: 'operator' })
  @Text('disableWebhook', 'Disable a webhook', {
    description:
      'Its deliveries wait. Only an operator can enable it again, also where it was disabled for another reason before.',
    path,
    answer: answerOf('The disabled webhook.', WebhookState),
    problems: ['not-found'],
  })
  async disable(@Param('id') given: string, @Req() request: FastifyRequest): Promise<WebhookState> {
    const webhook = await this.#find(given);
    const facts = { ...factsOf(webhook, request), reason: 'operator' };
    const done = await disableTold(this.store, webhook, () =>
      this.audit.report({ event: 'webhook.disabled', ...facts }),
    );
    if (done === 'changed') void this.notices.publish();
    return this.read(given);
  }

  @Post(':id/enable')
  @HttpCode(200)
  @Access({ kind: 'operator', role: 'operator' })
  @Text('enableWebhook', 'Enable a webhook', {
    description: 'An unverified webhook is a conflict: only a test that its partner asks for enables it.',
    path,
    answer: answerOf('The enabled webhook.', WebhookState),
    problems: ['not-found', 'conflict'],
  })
  async enable(@Param('id') given: string, @Req() request: FastifyRequest): Promise<WebhookState> {
    const webhook = await this.#find(given);
    const facts = factsOf(webhook, request);
    const outcome = await enableTold(this.store, webhook, (disabledReason) =>
      this.audit.report({ event: 'webhook.enabled', ...facts, disabledReason }),
    );
    if (outcome === 'changed') void this.notices.publish();
    if (outcome === 'unverified')
      throw new ProblemError('conflict', 'The webhook is unverified: a test that its partner asks for enables it.');
    if (outcome === 'partner')
      throw new ProblemError('conflict', 'Its partner disabled this webhook, and has to enable it.');
    return this.read(given);
  }

  @Delete(':id')
  @HttpCode(204)
  @Access({ kind: 'operator', role: 'admin' })
  @Text('deleteWebhook', 'Delete a webhook for good', {
    description: 'Its waiting deliveries end as `cancelled`. Its dead letters stay until they are purged.',
    path,
    answer: { description: 'The webhook is deleted.' },
    problems: ['not-found'],
  })
  async remove(@Param('id') given: string, @Req() request: FastifyRequest): Promise<void> {
    const webhook = await this.#find(given);
    await this.audit.report({ event: 'webhook.deleted', ...factsOf(webhook, request) });
    const { kind } = await this.store.remove(webhook.partnerId, webhook.id);
    if (kind !== 'deleted') throw notFound();
  }

  async #find(given: string): Promise<Webhook> {
    const found = await this.states.find(readId(given));
    if (found === undefined) throw notFound();
    return found;
  }
}

const factsOf = ({ id, partnerId, eventType }: Webhook, request: FastifyRequest) => ({
  ...actorOf(request),
  webhookId: id,
  partnerId,
  eventType,
});

/** Parses the id of a webhook. @throws ProblemError `not-found` if the text is no UUID */
function readId(given: string): string {
  const id = WebhookId.safeParse(given);
  if (!id.success) throw notFound();
  return id.data;
}

const notFound = (): ProblemError => new ProblemError('not-found', 'There is no such webhook.');

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

/** Routes for addresses of operators that get the notices about the webhooks of all partners. */
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

  /** @throws ProblemError `invalid-body` if the worker does not deliver to this address */
  #destinationOf(text: string): { readonly url: string; readonly origin: string } {
    const destination = checkDestination(text, policyOf(this.config));
    if (destination.ok) return destination;
    throw new ProblemError('invalid-body', 'The relay does not deliver to this address.', {
      errors: [{ pointer: '/url', detail: destination.detail }],
    });
  }
}
