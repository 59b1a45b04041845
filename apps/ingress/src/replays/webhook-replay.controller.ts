import { Controller, HttpCode, Inject, Param, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import type { TimeWindow } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { ReplayService, replayFacts } from '@relay/replays';
import { WebhookId, WebhookItems } from '@relay/webhooks';
import { HistoryQuota } from '../history/history-quota.adapter.js';
import { Access } from '../http/access.decorator.js';
import { callerIdOf, type FastifyReply, type FastifyRequest } from '../http/fastify-request.js';
import { Operation } from '../http/operation.decorator.js';
import { RateLimitInterceptor } from '../http/rate-limit.interceptor.js';
import { readJson, validate } from '../http/read-json.js';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';
import { notFound } from '../webhooks/webhook-problems.js';
import { dryRunOf } from './replay-answer.js';
import { ReplayRequest, type ReplayAnswer } from './replay.js';
import { replayWebhook } from './replays.operations.js';

/** Orders replays of a partner's own webhooks. */
@Controller('webhooks/:id/replay')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class WebhookReplayController {
  readonly #path: string;

  constructor(
    private readonly webhooks: WebhookItems,
    private readonly desk: ReplayService,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) config: IngressConfig,
  ) {
    this.#path = `${new URL(config.PUBLIC_URL).pathname.replace(/\/$/, '')}/replays`;
  }

  @Post()
  @HttpCode(202)
  @Operation(replayWebhook)
  async order(
    @Param('id') given: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReplayAnswer> {
    const partnerId = callerIdOf(request);
    await this.quota.admit(partnerId);
    const id = WebhookId.safeParse(given);
    const found = id.success ? await this.webhooks.find(partnerId, id.data) : undefined;
    if (found === undefined) throw notFound();
    const wanted = validate(ReplayRequest, request.rawBody === undefined ? {} : readJson(request.rawBody));
    const window = windowOf(wanted);
    const { id: webhookId, eventType } = found.details;
    const target = { webhookId, partnerId, eventType, status: wanted.status };
    if (wanted.dryRun) {
      const matched = await (wanted.status === 'all'
        ? this.desk.count(eventType, window)
        : this.desk.countFailed(target, window));
      return dryRunOf(target, window, matched, Date.now());
    }
    const ordered = await this.desk.order(target, window, { partnerId });
    if (ordered.kind === 'running')
      throw new ProblemError('conflict', 'Another replay of this webhook has not ended.', {
        members: { id: ordered.id },
      });
    void reply.header('location', `${this.#path}/${ordered.replay.id}`);
    return replayFacts(ordered.replay);
  }
}

const timeOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));
const windowOf = ({ since, until }: ReplayRequest): TimeWindow => ({ since: timeOf(since), until: timeOf(until) });
