import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { Audit } from '@relay/audit';
import {
  DeadLetter,
  type DeadLetterFacets,
  type DeadLetterFacts,
  deadLetterFacts,
  type DeadLetterFilter,
  type DeadLetterSelection,
  DeadLetterService,
  makeReported,
  type PurgeReport,
  type ReplayReport,
} from '@relay/dead-letters';
import { eventTypeName, ShownAttempt, withoutAnswer } from '@relay/events';
import { Access, type Body, type FastifyRequest, readQuery, StrictBody } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { z } from 'zod';
import { actorOf, mayReadEnvelopes } from '../access/operator-guard.js';
import { answerOf, type Asked, listOf, ListQuery, textsOf } from '../http/routes.js';

const filter = {
  type: eventTypeName('known').optional().describe('Only of this event type.'),
  reason: DeadLetter.shape.reason.optional().describe('Only given up for this reason.'),
  webhook: z.string().max(100).optional().describe('Only of this webhook.'),
};

/** Query of `GET /dead-letters/facets?type=&reason=&webhook=`. */
const FacetQuery = z.strictObject(filter);

/** Query of `GET /dead-letters?type=&reason=&webhook=&limit=&cursor=`. */
const LetterQuery = z.strictObject({
  ...filter,
  limit: z.coerce.number().int().min(1).max(1_000).default(100).describe('Longest page: 1 to 1,000.'),
  cursor: z
    .string()
    .regex(/^\d{1,9}\.[\w-]{0,300}$/, 'a cursor comes from the Link header of the page before')
    .optional()
    .describe('Where the page begins; out of the Link header of the page before.'),
});

/**
 * Selects the dead letters to replay or purge: either by `ids`, or by `all`, filters or both. A request with none of them is
 * refused, so an empty selection never means all dead letters.
 */
const LetterSelection = z
  .strictObject({
    ids: z.array(z.string().min(1).max(300)).min(1).max(1_000).optional(),
    all: z.literal(true).optional(),
    ...filter,
    until: z.iso
      .datetime({ offset: true })
      .optional()
      .describe(
        'Only those given up before this time: the `until` of a dry run changes nothing that it did not count.',
      ),
    after: z.string().min(1).max(300).optional().describe('Only those after this one, as an answer named it.'),
    dryRun: z.boolean().default(false).describe('Only count them.'),
  })
  .refine(({ ids, all, type, reason, webhook }) => {
    const filtered = type !== undefined || reason !== undefined || webhook !== undefined;
    return Number(ids !== undefined) + Number(all === true || filtered) === 1;
  }, 'say which dead letters: either ids, or all, or type, reason, webhook')
  .meta({ id: 'DeadLetterSelection', description: 'The dead letters to replay or purge.' });
type LetterSelection = z.infer<typeof LetterSelection>;

/** Body of a request to replay or purge one dead letter. */
const OneLetter = z
  .strictObject({ dryRun: z.boolean().default(false) })
  .meta({ id: 'OneDeadLetter', description: 'Whether it is looked up only.' });
type OneLetter = z.infer<typeof OneLetter>;

function filterOf({ type, reason, webhook }: z.infer<z.ZodObject<typeof filter>>): DeadLetterFilter {
  return {
    ...(type === undefined ? {} : { type }),
    ...(reason === undefined ? {} : { reason }),
    ...(webhook === undefined ? {} : { webhook }),
  };
}

const choiceOf = (selection: LetterSelection): DeadLetterSelection => ({
  ids: selection.ids ?? [],
  filter: {
    ...filterOf(selection),
    ...(selection.until === undefined ? {} : { until: Date.parse(selection.until) }),
  },
  ...(selection.after === undefined ? {} : { after: selection.after }),
});

const complete = z.boolean().describe('Whether all were looked at within 5 s; if not, more are left.');
const after = z
  .string()
  .optional()
  .describe('The last one that was looked at and stays: the same request with it goes on.');
const missing = z.array(z.string()).describe('Ids that name no dead letter.');

const facts = z.object({
  id: z.string(),
  envelopeId: z.string(),
  webhookId: z.string(),
  partnerId: z.string(),
  eventType: z.string(),
  reason: DeadLetter.shape.reason,
  lastFailure: z.string().optional(),
  lastAttempt: ShownAttempt.optional().describe(
    'None before the first attempt. With what the endpoint answered, but not for the role `viewer`.',
  ),
  attempts: z.int(),
  series: z.int(),
  acceptedAt: z.iso.datetime(),
  diedAt: z.iso.datetime(),
});

const LetterList = z
  .object({
    stored: z.int().describe('Dead letters in all, without the filter.'),
    complete,
    deadLetters: z.array(facts.meta({ id: 'DeadLetter', description: 'A dead letter without its envelope.' })),
  })
  .meta({ id: 'DeadLetters', description: 'Dead letters, newest first.' });

const InspectedLetter = facts
  .extend({ body: z.string().describe('The envelope; empty if Redis has lost it.') })
  .meta({ id: 'InspectedDeadLetter', description: 'A dead letter with its envelope.' });

const facet = z.array(z.object({ value: z.string(), count: z.int() }));

const LetterFacets = z
  .object({ matched: z.int(), complete, types: facet, reasons: facet, webhooks: facet, partners: facet })
  .meta({ id: 'DeadLetterFacets', description: 'Dead letters counted by value; the hundred most frequent of each.' });

const LetterCount = z
  .object({
    matched: z.int(),
    complete,
    until: z.iso
      .datetime()
      .describe('Those given up before this time are counted: for the replay or purge of the same.'),
  })
  .meta({ id: 'DeadLetterCount', description: 'The answer to a dry run.' });
type LetterCount = z.infer<typeof LetterCount>;

const ReplayOutcome = z.union([
  z
    .object({
      replayed: z.int(),
      deliveries: z.int(),
      refused: z.array(z.object({ id: z.string(), why: z.string() })).describe('The first thousand.'),
      refusedCount: z.int(),
      missing,
      complete,
      after,
    })
    .meta({ id: 'DeadLetterReplay', description: 'What became of dead letters.' }),
  LetterCount,
]);

const PurgeOutcome = z.union([
  z
    .object({ purged: z.int(), missing, complete, after })
    .meta({ id: 'DeadLetterPurge', description: 'How many were purged.' }),
  LetterCount,
]);

/**
 * Milliseconds that one request may spend on listing, counting or changing dead letters. Then it answers with what is done.
 */
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

/** Routes for dead letters. A record on `relay.operations` precedes each answer with an envelope and each change. */
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
    const found = await this.desk.list(filterOf(query), query.limit, until, query.cursor);
    linkTo(found.next);
    const deadLetters = mayReadEnvelopes(request) ? [...found.letters] : found.letters.map(withoutAnswerOf);
    return { stored: found.stored, complete: found.complete, deadLetters };
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

  /** Replays dead letters. Reloads the webhooks first, because a webhook may just have been registered or deleted. */
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
