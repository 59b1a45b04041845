import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { Access, linkToNext, type FastifyReply, type FastifyRequest, readQuery } from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { replayCursor, ReplayService, type ReplayStatus } from '@relay/replays';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import type { z } from 'zod';
import { actorOf } from '../access/actor.js';
import { LOOKED_AT, type OperatorReplay, type OperatorReplays, ReplayQuery, shownOf } from './replay-answers.js';
import { cancelReplay, listReplays, pauseReplay, readReplay, resumeReplay } from './replays.openapi.js';

/** Replays of all partners, whether a partner or an operator ordered them. */
@Controller('replays')
@Access({ kind: 'operator', role: 'viewer' })
export class ReplaysController {
  constructor(
    private readonly desk: ReplayService,
    private readonly log: ThrottledLog,
  ) {}

  @Get()
  @Operation(listReplays)
  async list(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof OperatorReplays>> {
    const { state, limit, cursor } = readQuery(ReplayQuery, query);
    const page = await this.desk.list({ limit: state === undefined ? limit : LOOKED_AT, cursor });
    const wanted = page.replays.filter((replay) => state === undefined || replay.state === state);
    const last = wanted.length > limit ? wanted[limit - 1] : undefined;
    linkToNext(request, reply, last === undefined ? page.next : replayCursor(last.id, last.createdAt));
    return { replays: wanted.slice(0, limit).map(shownOf) };
  }

  @Get(':id')
  @Operation(readReplay)
  async read(@Param('id') id: string): Promise<OperatorReplay> {
    return shownOf(await this.#find(id));
  }

  /** Pauses first: that loses nothing, and a report that Kafka does not take is logged. */
  @Post(':id/pause')
  @HttpCode(200)
  @Access({ kind: 'operator', role: 'operator' })
  @Operation(pauseReplay)
  async pause(@Param('id') id: string, @Req() request: FastifyRequest): Promise<OperatorReplay> {
    await this.#findUnderWay(id);
    await this.desk.pause(id, actorOf(request), (error) =>
      this.log.warn(
        'operations.untold',
        'Kafka did not take the result of an operator’s change: relay.operations has no record of it',
        { requestId: request.id, reason: reasonOf(error) },
      ),
    );
    return this.read(id);
  }

  @Post(':id/resume')
  @HttpCode(200)
  @Access({ kind: 'operator', role: 'operator' })
  @Operation(resumeReplay)
  async resume(@Param('id') id: string, @Req() request: FastifyRequest): Promise<OperatorReplay> {
    await this.#findUnderWay(id);
    await this.desk.resume(id, actorOf(request));
    return this.read(id);
  }

  /** Reports the cancellation on `relay.operations` before it ends the replay. */
  @Delete(':id')
  @HttpCode(204)
  @Access({ kind: 'operator', role: 'operator' })
  @Operation(cancelReplay)
  async cancel(@Param('id') id: string, @Req() request: FastifyRequest): Promise<void> {
    await this.#find(id);
    await this.desk.cancel(id, actorOf(request));
  }

  async #find(id: string): Promise<ReplayStatus> {
    const found = await this.desk.find(id);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such replay.');
    return found;
  }

  async #findUnderWay(id: string): Promise<void> {
    const { endedAt } = await this.#find(id);
    if (endedAt !== undefined) throw new ProblemError('conflict', 'The replay has ended.');
  }
}
