import { Controller, Delete, Get, HttpCode, Param, Req, UseInterceptors } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import { ReplayService, replayFacts, type ReplayStatus } from '@relay/replays';
import { Access } from '../http/access.decorator.js';
import { callerIdOf, type FastifyRequest } from '../http/fastify-request.js';
import { Operation } from '../http/operation.decorator.js';
import { RateLimitInterceptor } from '../http/rate-limit.interceptor.js';
import { ReplayId, type ReplayAnswer } from './replay.js';
import { cancelReplay, readReplay } from './replays.operations.js';

/** A partner's own replays, whoever ordered them. */
@Controller('replays/:id')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class ReplaysController {
  constructor(private readonly desk: ReplayService) {}

  @Get()
  @Operation(readReplay)
  async read(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ReplayAnswer> {
    return replayFacts(await this.#find(id, request));
  }

  @Delete()
  @HttpCode(204)
  @Operation(cancelReplay)
  async cancel(@Param('id') id: string, @Req() request: FastifyRequest): Promise<void> {
    const replay = await this.#find(id, request);
    await this.desk.cancel(replay.id, { partnerId: callerIdOf(request) });
  }

  /** What another partner owns is not found, like what never was or was forgotten. */
  async #find(given: string, request: FastifyRequest): Promise<ReplayStatus> {
    const id = ReplayId.safeParse(given);
    const found = id.success ? await this.desk.find(id.data) : undefined;
    if (found?.partnerId !== callerIdOf(request)) throw new ProblemError('not-found', 'You have no such replay.');
    return found;
  }
}
