import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { withoutAnswer } from '@relay/events';
import { Access, linkToNext, type FastifyReply, type FastifyRequest, readQuery } from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { AttemptIndex, AttemptSearch } from '@relay/search';
import { mayReadEnvelopes } from '../access/role.js';
import type { AttemptAnswers } from './attempt-answers.js';
import { ATTEMPT_INDEX } from './envelope-stores.js';
import { searchAttempts } from './envelopes.openapi.js';

/** The search over all attempts. */
@Controller('attempts')
@Access({ kind: 'operator', role: 'viewer' })
export class AttemptsController {
  constructor(@Inject(ATTEMPT_INDEX) private readonly index: AttemptIndex | null) {}

  @Get()
  @Operation(searchAttempts)
  async find(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AttemptAnswers> {
    const search = readQuery(AttemptSearch, query);
    if (this.index === null)
      throw new ProblemError('not-found', 'This process has no index of attempts: SEARCH_INDEX is off.');
    const [{ attempts, next }, since] = await Promise.all([this.index.find(search), this.index.since()]);
    linkToNext(request, reply, next);
    const { isCurrent, lag } = this.index.state;
    return {
      attempts: mayReadEnvelopes(request) ? [...attempts] : attempts.map(withoutAnswer),
      next: next ?? null,
      since: since === undefined ? null : new Date(since).toISOString(),
      lag,
      incomplete: isCurrent && since !== undefined ? [] : ['index'],
    };
  }
}
