import { type ReplayAnswer, ReplayRequest, ReplayService, replayFacts } from '@relay/replays';
import { Controller, HttpCode, Inject, Param, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import {
  Access,
  callerIdOf,
  HasVersions,
  Portal,
  readIfMatch,
  RateLimitInterceptor,
  StrictBody,
  type Body,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import type { TimeWindow } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookId, WebhookStore } from '@relay/webhooks';
import { askedBy } from '../access/partner-audit.js';
import { HistoryQuota } from '../history/history-quota.adapter.js';
import { Operation } from '@relay/openapi';
import { notFound, staleVersion } from '../webhooks/webhook-problems.js';
import { dryRunOf } from './replay-answer.js';
import { replayWebhook } from './replays.openapi.js';

/** Orders replays of a partner's own webhooks. */
@Controller('webhooks/:id/replay')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class WebhookReplayController {
  readonly #path: string;

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly desk: ReplayService,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) config: IngressConfig,
  ) {
    this.#path = `${new URL(config.PUBLIC_URL).pathname.replace(/\/$/, '')}/replays`;
  }

  @Post()
  @HasVersions()
  @Portal('write')
  @HttpCode(202)
  @Operation(replayWebhook)
  async order(
    @Param('id') given: string,
    @StrictBody(ReplayRequest, 'optional') body: Body<ReplayRequest>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReplayAnswer> {
    const partnerId = callerIdOf(request);
    await this.quota.admit(partnerId);
    const id = WebhookId.safeParse(given);
    const found = id.success ? await this.webhooks.find(partnerId, id.data) : undefined;
    if (found === undefined) throw notFound();
    if (readIfMatch(request.headers['if-match'])?.includes(found.version) === false) throw staleVersion();
    const wanted = body();
    const window = windowOf(wanted);
    const { id: webhookId, eventType } = found.details;
    const target = { webhookId, partnerId, eventType, status: wanted.status };
    if (wanted.dryRun) {
      const matched = await this.desk.count(target, window);
      return dryRunOf(target, window, matched, Date.now());
    }
    const ordered = await this.desk.order(target, window, askedBy(request));
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
