import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req, Res, UseInterceptors } from '@nestjs/common';
import { Access, callerIdOf, callerOf, HasVersions, linkToNext, Portal, RateLimitInterceptor, readIfMatch, readQuery, StrictBody, type Body, type FastifyReply, type FastifyRequest } from '@relay/http';
import type { TimeWindow } from '@relay/kafka';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { replayFacts, ReplayId, ReplayRequest, ReplayService, type ReplayAnswer, type ReplayStatus, type ReplayTarget } from '@relay/replays';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookId, WebhookStore } from '@relay/webhooks';
import { askedBy } from '../access/partner-audit.js';
import { HistoryQuota } from '../history/own-webhooks.js';
import { isShown, notFound, staleVersion } from '../webhooks/webhook-problems.js';
import { cancelReplay, listReplays, readReplay, ReplaysQuery, replayWebhook, type ReplayAnswers } from './replays.openapi.js';

/** A list is charged by its size. */
const REPLAYS_FOR_A_POINT = 10;

/** A partner’s replays, whether the partner or an operator ordered them. */
@Controller('replays')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class ReplaysController {
  constructor(
    private readonly desk: ReplayService,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'PUBLIC_URL'>,
  ) {}

  @Get()
  @Portal('read')
  @Operation(listReplays)
  async list(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReplayAnswers> {
    const { limit, cursor } = readQuery(ReplaysQuery, query);
    await this.quota.admit(callerIdOf(request), Math.ceil(limit / REPLAYS_FOR_A_POINT));
    const { clientId, portal } = callerOf(request);
    const { replays, next } = await this.desk.ofPartner(clientId, { limit, cursor }, portal?.webhookIds);
    linkToNext(request, reply, next, { publicUrl: this.config.PUBLIC_URL });
    return { replays: replays.map((replay) => replayFacts(replay)) };
  }

  @Get(':id')
  @Portal('read')
  @Operation(readReplay)
  async read(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ReplayAnswer> {
    return replayFacts(await this.#find(id, request));
  }

  @Delete(':id')
  @Portal('write')
  @HttpCode(204)
  @Operation(cancelReplay)
  async cancel(@Param('id') id: string, @Req() request: FastifyRequest): Promise<void> {
    const replay = await this.#find(id, request);
    await this.desk.cancel(replay.id, askedBy(request));
  }

  /** A replay of another partner is not found, like one that is unknown or expired. */
  async #find(given: string, request: FastifyRequest): Promise<ReplayStatus> {
    const id = ReplayId.safeParse(given);
    const found = id.success ? await this.desk.find(id.data) : undefined;
    if (found?.partnerId !== callerIdOf(request) || !isShown(callerOf(request), found.webhookId))
      throw new ProblemError('not-found', 'You have no such replay.');
    return found;
  }
}

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

/** The answer to a dry run, as a replay. @param now epoch milliseconds */
export const dryRunOf = (target: ReplayTarget, window: TimeWindow, matched: number, now: number): ReplayAnswer => {
  const counts = { matched, done: 0, failed: 0, ratePerSecond: 0, secondsLeft: undefined };
  const facts = {
    ...window,
    ...counts,
    ...target,
    id: '',
    orderedBy: 'partner' as const,
    createdAt: now,
    endedAt: now,
  };
  return { ...replayFacts({ ...facts, state: 'done' }), id: null, state: 'dry-run' };
};
