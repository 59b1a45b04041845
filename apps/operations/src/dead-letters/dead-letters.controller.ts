import { Audit } from '@relay/audit';
import { withoutAnswer } from '@relay/events';
import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { Access, StrictBody, type Body, type FastifyRequest, readQuery } from '@relay/http';
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
import { ProblemError } from '@relay/problem';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { z } from 'zod';
import { actorOf, mayReadEnvelopes } from '../access/role.js';
import { answerOf, ListQuery, listOf, textsOf, type Asked } from '../http/routes.js';
import {
  choiceOf,
  FacetQuery,
  filterOf,
  InspectedLetter,
  type LetterCount,
  LetterFacets,
  LetterList,
  LetterQuery,
  LetterSelection,
  OneLetter,
  PurgeOutcome,
  ReplayOutcome,
} from './letters.js';

/** How long one request lists, counts or changes dead letters before it answers with the finished part, in ms. */
const WORK_MS = 5_000;

const Text = textsOf('Dead letters');
const path = {
  id: {
    schema: z.string().describe('Identifier of the delivery.'),
    example: '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d_6f1e2d3c-4b5a-4968-8776-655443322110_0123456789abcdef_0_1',
  },
};
const replayed = answerOf('Replayed, or counted only.', ReplayOutcome);
const purged = answerOf('Purged, or counted only.', PurgeOutcome);
const many = {
  description: 'Selected by ids, by `all`, or by filters, in one of these ways.',
  body: { isRequired: true, schema: LetterSelection, example: { reason: 'attempts_exhausted', dryRun: true } },
};
const one = {
  path,
  body: { isRequired: false, schema: OneLetter, example: { dryRun: true } },
  problems: ['not-found'],
} as const;

/** Dead letters. Each view of a body and each change is reported on `relay.operations` first. */
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
  @Text('listDeadLetters', 'List dead letters', { query: LetterQuery, answer: listOf('The newest ones.', LetterList) })
  async list(
    @ListQuery(LetterQuery) { query, linkTo }: Asked<z.infer<typeof LetterQuery>>,
    @Req() request: FastifyRequest,
  ): Promise<z.infer<typeof LetterList>> {
    const until = Date.now() + WORK_MS;
    const { letters, stored, complete, next } = await this.desk.list(filterOf(query), query.limit, until, query.cursor);
    linkTo(next);
    return { stored, complete, deadLetters: mayReadEnvelopes(request) ? [...letters] : letters.map(withoutAnswerOf) };
  }

  @Get('facets')
  @Access({ kind: 'operator', role: 'viewer' })
  @Text('countDeadLetters', 'Count dead letters by type, reason, webhook and partner', {
    query: FacetQuery,
    answer: answerOf('The counts.', LetterFacets),
  })
  facets(@Query() query: unknown): Promise<DeadLetterFacets & { readonly complete: boolean }> {
    return this.desk.facets(filterOf(readQuery(FacetQuery, query)), Date.now() + WORK_MS);
  }

  @Get(':id')
  @Text('readDeadLetter', 'Read a dead letter with its envelope', {
    description: '`relay.operations` has a record of it.',
    path,
    answer: answerOf('The dead letter.', InspectedLetter),
    problems: ['not-found'],
  })
  async inspect(@Param('id') id: string, @Req() request: FastifyRequest): Promise<z.infer<typeof InspectedLetter>> {
    const found = await this.desk.find(id);
    if (found === undefined) throw notFound();
    await this.audit.report({ event: 'dead-letter.read', ...actorOf(request), id });
    return { ...deadLetterFacts(found), body: await this.desk.bodyOf(found) };
  }

  @Post('replay')
  @HttpCode(200)
  @Text('replayDeadLetters', 'Replay dead letters', { ...many, answer: replayed })
  async replay(
    @StrictBody(LetterSelection) body: Body<LetterSelection>,
    @Req() request: FastifyRequest,
  ): Promise<ReplayReport | LetterCount> {
    return this.#replay(body(), request);
  }

  @Post('purge')
  @HttpCode(200)
  @Text('purgeDeadLetters', 'Purge dead letters', { ...many, answer: purged })
  async purge(
    @StrictBody(LetterSelection) body: Body<LetterSelection>,
    @Req() request: FastifyRequest,
  ): Promise<PurgeReport | LetterCount> {
    return this.#purge(body(), request);
  }

  @Post(':id/replay')
  @HttpCode(200)
  @Text('replayDeadLetter', 'Replay one dead letter', { ...one, answer: replayed })
  async replayOne(
    @Param('id') id: string,
    @StrictBody(OneLetter, 'optional') body: Body<OneLetter>,
    @Req() request: FastifyRequest,
  ): Promise<ReplayReport | LetterCount> {
    return this.#replay(await this.#onlyThe(id, body), request);
  }

  @Delete(':id')
  @Text('purgeDeadLetter', 'Purge one dead letter', { ...one, answer: purged })
  async purgeOne(
    @Param('id') id: string,
    @StrictBody(OneLetter, 'optional') body: Body<OneLetter>,
    @Req() request: FastifyRequest,
  ): Promise<PurgeReport | LetterCount> {
    return this.#purge(await this.#onlyThe(id, body), request);
  }

  /** Replays dead letters. It reloads the webhooks, so that a registration or deletion of a moment ago counts. */
  #replay(selection: LetterSelection, request: FastifyRequest): Promise<ReplayReport | LetterCount> {
    return this.#change('replay', selection, request, async (choice, until) => {
      await this.webhooks.reload();
      return this.desk.replay(choice, until);
    });
  }

  #purge(selection: LetterSelection, request: FastifyRequest): Promise<PurgeReport | LetterCount> {
    return this.#change('purge', selection, request, (choice, until) => this.desk.purge(choice, until));
  }

  /** @throws ProblemError `not-found` */
  async #onlyThe(id: string, body: Body<OneLetter>): Promise<LetterSelection> {
    const { dryRun } = body();
    if ((await this.desk.find(id)) === undefined) throw notFound();
    return { ids: [id], dryRun };
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
    const untold = (error: unknown): void =>
      this.log.warn(
        'operations.untold',
        'Kafka did not take the result of an operator’s change: relay.operations has only the request',
        { requestId: request.id, reason: reasonOf(error) },
      );
    return makeReported(this.audit, { what, selection, by: actorOf(request) }, () => make(choice, until), untold);
  }
}

const withoutAnswerOf = ({ lastAttempt, ...letter }: DeadLetterFacts): DeadLetterFacts => ({
  ...letter,
  lastAttempt: lastAttempt && withoutAnswer(lastAttempt),
});

const notFound = (): ProblemError => new ProblemError('not-found', 'There is no such dead letter.');
