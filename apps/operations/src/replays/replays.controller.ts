import { Controller, Delete, Get, HttpCode, Param, Query, Req } from '@nestjs/common';
import { callerIdOf, type FastifyRequest, readQuery } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { replayFacts, ReplayService, type ReplayStatus } from '@relay/replays';
import { z } from 'zod';

const MAX_LIMIT = 10_000;
const ReplayQuery = z.strictObject({
  state: z.enum(['running', 'paused', 'done', 'cancelled']).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(1_000),
});

/** Replays of all partners, whether a partner or an operator ordered them. */
@Controller('replays')
export class ReplaysController {
  constructor(private readonly desk: ReplayService) {}

  @Get()
  async list(@Query() query: unknown): Promise<object> {
    const { state, limit } = readQuery(ReplayQuery, query);
    const found = await this.desk.list(state === undefined ? limit : MAX_LIMIT);
    const wanted = found.filter((replay) => state === undefined || replay.state === state);
    return { replays: wanted.slice(0, limit).map(shownOf) };
  }

  @Get(':id')
  async read(@Param('id') id: string): Promise<object> {
    return shownOf(await this.#find(id));
  }

  /** Reports the cancellation on `relay.operations` before it ends the replay. */
  @Delete(':id')
  @HttpCode(204)
  async cancel(@Param('id') id: string, @Req() request: FastifyRequest): Promise<void> {
    await this.#find(id);
    await this.desk.cancel(id, { operator: callerIdOf(request) });
  }

  async #find(id: string): Promise<ReplayStatus> {
    const found = await this.desk.find(id);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such replay.');
    return found;
  }
}

const shownOf = (replay: ReplayStatus): object => ({
  ...replayFacts(replay),
  partnerId: replay.partnerId,
  eventType: replay.eventType,
  orderedBy: replay.orderedBy,
});
