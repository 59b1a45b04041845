import { Audit } from '@relay/audit';
import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { Access, callerIdOf, type FastifyRequest, readQuery, linkToNext, type FastifyReply } from '@relay/http';
import { Notices } from '@relay/notices';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { disableTold, enableTold, type Webhook, WebhookId, WebhookStore } from '@relay/webhooks';
import type { z } from 'zod';
import { WebhookStates } from './webhook-states.adapter.js';
import { WebhookQuery, type WebhookState, type WebhookStates as Listed } from './webhook-answers.js';
import { deleteWebhook, disableWebhook, enableWebhook, listWebhooks, readWebhook } from './webhooks.openapi.js';

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
  @Operation(listWebhooks)
  async list(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof Listed>> {
    const asked = readQuery(WebhookQuery, query);
    const page = await this.states.list(asked);
    const end = asked.cursor + asked.limit;
    linkToNext(request, reply, end < page.total ? end : undefined);
    return page;
  }

  @Get(':id')
  @Operation(readWebhook)
  async read(@Param('id') given: string): Promise<WebhookState> {
    const found = await this.states.read(readId(given));
    if (found === undefined) throw notFound();
    return found;
  }

  @Post(':id/disable')
  @HttpCode(200)
  @Access({ kind: 'operator', role: 'operator' })
  @Operation(disableWebhook)
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
  @Operation(enableWebhook)
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
  @Operation(deleteWebhook)
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
  operator: callerIdOf(request),
  requestId: request.id,
  webhookId: id,
  partnerId,
  eventType,
});

/** A text that is no UUID is the id of no webhook. */
function readId(given: string): string {
  const id = WebhookId.safeParse(given);
  if (!id.success) throw notFound();
  return id.data;
}

const notFound = (): ProblemError => new ProblemError('not-found', 'There is no such webhook.');
