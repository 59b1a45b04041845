import { Audit } from '@relay/audit';
import { Controller, Get, Header, Param, Query, Req } from '@nestjs/common';
import { AttemptRecord, withoutAnswer } from '@relay/events';
import { Access, type FastifyRequest, readQuery } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { type AttemptIndex, AttemptSearch } from '@relay/search';
import { ClueQuery, clueOf, EnvelopeStory, withoutAnswers } from '@relay/story';
import { z } from 'zod';
import { actorOf, mayReadEnvelopes } from '../access/operator-guard.js';
import { answerOf, ListQuery, listOf, textsOf, type Asked } from '../http/routes.js';
import { EnvelopeStores } from './envelope-stores.adapter.js';

/** The answer of a search. */
const AttemptAnswers = z
  .object({
    attempts: z.array(
      AttemptRecord.extend({
        host: z.string().optional().describe('Host of the endpoint, where it was known when the attempt was indexed.'),
      }).meta({ id: 'IndexedAttempt' }),
    ),
    next: z
      .string()
      .nullable()
      .describe(
        'The `cursor` of the next page; a page may be short and have a next one, since a search looks at 100,000 attempts at once.',
      ),
    since: z.iso
      .datetime()
      .nullable()
      .describe('No attempt that began later is missing, but for those of `lag`; `null` while the index is away.'),
    lag: z.int().describe('Records of the log that are not indexed yet.'),
    incomplete: z.array(z.literal('index')).describe('Has `index` while the index is behind the log or away.'),
  })
  .meta({
    id: 'AttemptAnswers',
    description: 'Attempts, newest first; for the role `viewer` without what endpoints answered.',
  });
type AttemptAnswers = z.infer<typeof AttemptAnswers>;

const STEPS = { minute: 60_000, hour: 3_600_000 } as const;
/** Maximum number of steps in an answer. */
const MOST_STEPS = 1_500;

const CountsQuery = z.strictObject({
  step: z.enum(['minute', 'hour']).default('minute').describe(`Counts are of this length, at most ${MOST_STEPS}.`),
  ...AttemptSearch.pick({ since: true, until: true }).shape,
});

const duration = z.int().nullable();

const AttemptCounts = z
  .object({
    counts: z.array(
      z
        .object({
          at: z.iso.datetime().describe('When the minute or hour begins.'),
          delivered: z.int().describe('Attempts that the endpoint answered 2xx.'),
          failedAttempts: z.int(),
          p50Ms: duration.describe('Half of the attempts took at most so long, within 9 %; `null` without attempts.'),
          p95Ms: duration,
          p99Ms: duration,
        })
        .meta({ id: 'AttemptCount' }),
    ),
    ...AttemptAnswers.pick({ since: true, lag: true, incomplete: true }).shape,
  })
  .meta({
    id: 'AttemptCounts',
    description: 'Attempts by the minute or hour, oldest first, from the time on from which the index has all.',
  });
type AttemptCounts = z.infer<typeof AttemptCounts>;

const EnvelopeId = z.guid().toLowerCase();

const Text = textsOf('Envelopes');
const ofOne = {
  path: { id: { schema: EnvelopeId, example: '6f1e2d3c-4b5a-4968-8776-655443322110' } },
  query: ClueQuery,
  problems: ['not-found', 'unavailable'],
} as const;

/** Routes for the delivery history of an envelope, for its payload, and for the search over all attempts. */
@Controller()
@Access({ kind: 'operator', role: 'viewer' })
export class EnvelopesController {
  constructor(
    private readonly stores: EnvelopeStores,
    private readonly audit: Audit,
  ) {}

  @Get('attempts')
  @Text('searchAttempts', 'Search attempts', {
    description: 'All given filters apply. Pages do not shift while attempts arrive. 404 where the index is off.',
    query: AttemptSearch,
    answer: listOf('Attempts, newest first.', AttemptAnswers),
    problems: ['not-found'],
  })
  async find(
    @ListQuery(AttemptSearch) { query, linkTo }: Asked<z.infer<typeof AttemptSearch>>,
    @Req() request: FastifyRequest,
  ): Promise<AttemptAnswers> {
    const index = this.#index();
    const [{ attempts, next }, since] = await Promise.all([index.find(query), index.since()]);
    linkTo(next);
    return {
      attempts: mayReadEnvelopes(request) ? [...attempts] : attempts.map(withoutAnswer),
      next: next ?? null,
      ...stateOf(index, since),
    };
  }

  @Get('attempts/counts')
  @Text('countAttempts', 'Count attempts by the minute or hour', {
    description:
      'With percentiles of their durations. Without `since`, the last 60 minutes or 24 hours. 404 where the index is off.',
    query: CountsQuery,
    answer: answerOf('The counts.', AttemptCounts),
    problems: ['not-found'],
  })
  async count(@Query() given: unknown): Promise<AttemptCounts> {
    const { step, since: from, until } = readQuery(CountsQuery, given);
    const index = this.#index();
    const known = await index.since();
    const stepMs = STEPS[step];
    const end = Math.min(Date.now(), until === undefined ? Infinity : Date.parse(until));
    const begin = from === undefined ? end - (step === 'hour' ? 24 : 60) * stepMs : Date.parse(from);
    if (end - begin > MOST_STEPS * stepMs)
      throw new ProblemError('invalid-request', `\`since\` is more than ${MOST_STEPS} steps before the end.`);
    const first = Math.max(begin, known ?? Infinity);
    const counts = first < end ? [...(await index.counts(first, end, stepMs))] : [];
    return { counts, ...stateOf(index, known) };
  }

  #index(): AttemptIndex {
    const { index } = this.stores;
    if (index !== null) return index;
    throw new ProblemError('not-found', 'This process has no index of attempts: SEARCH_INDEX is off.');
  }

  @Get('envelopes/:id')
  @Text('readEnvelopeStory', 'Read what became of an envelope', {
    description:
      'Each webhook’s deliveries in order, each with its attempts. `incomplete` names the parts that are away. `type` and `around` go together; only an envelope that was never attempted needs them. The role `viewer` gets no answers of endpoints.',
    ...ofOne,
    answer: answerOf('Its story.', EnvelopeStory),
  })
  async read(
    @Param('id') given: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
  ): Promise<EnvelopeStory> {
    const clue = clueOf(readQuery(ClueQuery, query));
    const { story, away } = await this.stores.stories.read(readId(given), { clue });
    if (story !== undefined) return mayReadEnvelopes(request) ? story : withoutAnswers(story);
    throw unknown(away);
  }

  /** Returns the envelope byte for byte as the source sent it. A record on `relay.operations` precedes the answer. */
  @Get('envelopes/:id/payload')
  @Access({ kind: 'operator', role: 'operator' })
  @Header('content-type', 'application/json')
  @Header('cache-control', 'no-store')
  @Text('readEnvelope', 'Read an envelope as its source sent it', {
    description: '`relay.operations` has a record of it. The log keeps envelopes for 7 days.',
    ...ofOne,
    answer: answerOf('Its bytes.', z.looseObject({})),
  })
  async payload(@Param('id') given: string, @Query() query: unknown, @Req() request: FastifyRequest): Promise<Buffer> {
    const envelopeId = readId(given);
    const clue = clueOf(readQuery(ClueQuery, query));
    const { found, isKnown, away } = await this.stores.stories.record(envelopeId, clue).catch((cause: unknown) => {
      throw awayOf('Kafka does not answer at the moment.', cause);
    });
    if (!isKnown) throw unknown(away);
    if (found === undefined) throw new ProblemError('not-found', 'The log no longer has this envelope.');
    await this.audit.report({ event: 'envelope.read', ...actorOf(request), envelopeId });
    return found.envelope.bytes;
  }
}

/** How far the index is. @param since when it begins, in epoch milliseconds; undefined while it is away */
function stateOf({ state: { isCurrent, lag } }: AttemptIndex, since: number | undefined) {
  const incomplete: AttemptAnswers['incomplete'] = isCurrent && since !== undefined ? [] : ['index'];
  return { since: since === undefined ? null : new Date(since).toISOString(), lag, incomplete };
}

const unknown = (away: readonly string[] = []): ProblemError =>
  away.length === 0
    ? new ProblemError('not-found', 'Nothing is known of this envelope: it was never accepted, or too long ago.')
    : awayOf(`Nothing is known of this envelope without what is away: ${away.join(', ')}.`);

const awayOf = (detail: string, cause?: unknown): ProblemError =>
  new ProblemError('unavailable', detail, { headers: { 'retry-after': '5' }, cause });

/** Parses the id of an envelope. @throws ProblemError `not-found` if the text is no UUID */
function readId(given: string): string {
  const id = EnvelopeId.safeParse(given);
  if (!id.success) throw unknown();
  return id.data;
}
