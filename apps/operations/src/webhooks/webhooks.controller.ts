import { Audit } from '@relay/audit';
import { Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { Access, type FastifyRequest } from '@relay/http';
import { Notices } from '@relay/notices';
import { ProblemError } from '@relay/problem';
import { disableTold, enableTold, type Webhook, WebhookId, WebhookStore } from '@relay/webhooks';
import type { z } from 'zod';
import { actorOf } from '../access/role.js';
import { answerOf, ListQuery, listOf, textsOf, type Asked } from '../http/routes.js';
import { WebhookStates } from './webhook-states.adapter.js';
import { WebhookList, WebhookQuery, WebhookState } from './webhook-states.js';

const Text = textsOf('Webhooks');
const path = { id: { schema: WebhookId, example: '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d' } };

/** Webhooks of all partners. Each change is reported on `relay.operations` first. */
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

/** Returns the id of a webhook. A text that is no UUID is an unknown id. */
function readId(given: string): string {
  const id = WebhookId.safeParse(given);
  if (!id.success) throw notFound();
  return id.data;
}

const notFound = (): ProblemError => new ProblemError('not-found', 'There is no such webhook.');
