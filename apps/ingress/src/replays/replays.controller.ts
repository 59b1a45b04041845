import { type ReplayAnswer, ReplayId, ReplayService, replayFacts } from '@relay/replays';
import { Controller, Delete, Get, HttpCode, Inject, Param, Query, Req, Res, UseInterceptors } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import {
  Access,
  callerIdOf,
  callerOf,
  linkToNext,
  Portal,
  RateLimitInterceptor,
  readQuery,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import type { ReplayStatus } from '@relay/replays';
import { Operation } from '@relay/openapi';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { askedBy } from '../access/partner-audit.js';
import { HistoryQuota } from '../history/history-quota.adapter.js';
import { isShown } from '../portal/shown.js';
import { ReplaysQuery, type ReplayAnswers } from './replay.js';
import { cancelReplay, listReplays, readReplay } from './replays.openapi.js';

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
