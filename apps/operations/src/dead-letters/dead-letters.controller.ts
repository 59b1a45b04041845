import { Audit } from '@relay/audit';
import { withoutAnswer } from '@relay/events';
import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import {
  Access,
  callerIdOf,
  StrictBody,
  type Body,
  type FastifyRequest,
  readQuery,
  linkToNext,
  type FastifyReply,
} from '@relay/http';
import {
  type DeadLetterFacets,
  type DeadLetterFacts,
  DeadLetterService,
  type DeadLetterSelection,
  deadLetterFacts,
  makeReported,
  type PurgeReport,
  type ReplayReport,
} from '@relay/dead-letters';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import type { z } from 'zod';
import {
  countDeadLetters,
  listDeadLetters,
  purgeDeadLetter,
  purgeDeadLetters,
  readDeadLetter,
  replayDeadLetter,
  replayDeadLetters,
} from './dead-letters.openapi.js';
import type { InspectedLetter, LetterCount, LetterList } from './letter-answers.js';
import { mayReadEnvelopes } from '../access/role.js';
import { choiceOf, FacetQuery, filterOf, LetterQuery, LetterSelection, OneLetter } from './letter-request.js';

/** How long one request lists, counts or changes dead letters before it answers with the part that is done. */
const WORK_MS = 5_000;

/** Deliveries that were given up. Each view of a body and each change is reported on `relay.operations` first. */
@Controller('dead-letters')
@Access({ kind: 'operator', role: 'operator' })
export class DeadLettersController {
  constructor(
    private readonly desk: DeadLetterService,
    private readonly webhooks: RedisWebhookView,
    private readonly audit: Audit,
    private readonly log: ThrottledLog,
  ) {}

  @Get()
  @Access({ kind: 'operator', role: 'viewer' })
  @Operation(listDeadLetters)
  async list(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof LetterList>> {
    const asked = readQuery(LetterQuery, query);
    const until = Date.now() + WORK_MS;
    const { letters, stored, complete, next } = await this.desk.list(filterOf(asked), asked.limit, until, asked.cursor);
    linkToNext(request, reply, next);
    return { stored, complete, deadLetters: mayReadEnvelopes(request) ? [...letters] : letters.map(withoutAnswerOf) };
  }

  @Get('facets')
  @Access({ kind: 'operator', role: 'viewer' })
  @Operation(countDeadLetters)
  facets(@Query() query: unknown): Promise<DeadLetterFacets & { readonly complete: boolean }> {
    return this.desk.facets(filterOf(readQuery(FacetQuery, query)), Date.now() + WORK_MS);
  }

  @Get(':id')
  @Operation(readDeadLetter)
  async inspect(@Param('id') id: string, @Req() request: FastifyRequest): Promise<z.infer<typeof InspectedLetter>> {
    const found = await this.desk.find(id);
    if (found === undefined) throw notFound();
    await this.audit.report({ event: 'dead-letter.read', operator: callerIdOf(request), requestId: request.id, id });
    return { ...deadLetterFacts(found), body: await this.desk.bodyOf(found) };
  }

  @Post('replay')
  @HttpCode(200)
  @Operation(replayDeadLetters)
  async replay(
    @StrictBody(LetterSelection) body: Body<LetterSelection>,
    @Req() request: FastifyRequest,
  ): Promise<ReplayReport | LetterCount> {
    return this.#change('replay', body(), request, (choice, until) => this.#replay(choice, until));
  }

  @Post('purge')
  @HttpCode(200)
  @Operation(purgeDeadLetters)
  async purge(
    @StrictBody(LetterSelection) body: Body<LetterSelection>,
    @Req() request: FastifyRequest,
  ): Promise<PurgeReport | LetterCount> {
    return this.#change('purge', body(), request, (choice, until) => this.desk.purge(choice, until));
  }

  @Post(':id/replay')
  @HttpCode(200)
  @Operation(replayDeadLetter)
  async replayOne(
    @Param('id') id: string,
    @StrictBody(OneLetter, 'optional') body: Body<OneLetter>,
    @Req() request: FastifyRequest,
  ): Promise<ReplayReport | LetterCount> {
    const { dryRun } = body();
    await this.#assertThere(id);
    return this.#change('replay', { ids: [id], dryRun }, request, (choice, until) => this.#replay(choice, until));
  }

  @Delete(':id')
  @Operation(purgeDeadLetter)
  async purgeOne(
    @Param('id') id: string,
    @StrictBody(OneLetter, 'optional') body: Body<OneLetter>,
    @Req() request: FastifyRequest,
  ): Promise<PurgeReport | LetterCount> {
    const { dryRun } = body();
    await this.#assertThere(id);
    return this.#change('purge', { ids: [id], dryRun }, request, (choice, until) => this.desk.purge(choice, until));
  }

  async #change<Report extends PurgeReport | ReplayReport>(
    what: 'replay' | 'purge',
    { dryRun, ...selection }: LetterSelection,
    request: FastifyRequest,
    make: (choice: DeadLetterSelection, until: number) => Promise<Report>,
  ): Promise<Report | LetterCount> {
    const now = Date.now();
    const until = now + WORK_MS;
    if (dryRun) {
      const counted = selection.until ?? new Date(now).toISOString();
      return { ...(await this.desk.count(choiceOf({ dryRun, ...selection, until: counted }), until)), until: counted };
    }
    const choice = choiceOf({ dryRun, ...selection });
    const by = { operator: callerIdOf(request), requestId: request.id };
    const untold = (error: unknown): void =>
      this.log.warn(
        'operations.untold',
        'Kafka did not take the result of an operator’s change: relay.operations has only the request',
        { requestId: request.id, reason: reasonOf(error) },
      );
    return makeReported(this.audit, { what, selection, by }, () => make(choice, until), untold);
  }

  /** Reloads the webhooks, so that one registered or deleted a moment ago counts. */
  async #replay(choice: DeadLetterSelection, until: number): Promise<ReplayReport> {
    await this.webhooks.reload();
    return this.desk.replay(choice, until);
  }

  async #assertThere(id: string): Promise<void> {
    if ((await this.desk.find(id)) === undefined) throw notFound();
  }
}

const withoutAnswerOf = ({ lastAttempt, ...letter }: DeadLetterFacts): DeadLetterFacts => ({
  ...letter,
  lastAttempt: lastAttempt && withoutAnswer(lastAttempt),
});

const notFound = (): ProblemError => new ProblemError('not-found', 'There is no such dead letter.');
