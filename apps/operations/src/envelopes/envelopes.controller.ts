import { Audit } from '@relay/audit';
import { Controller, Get, Header, Param, Query, Req } from '@nestjs/common';
import { Access, callerIdOf, type FastifyRequest, readQuery } from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { ClueQuery, clueOf, type EnvelopeStory, StoryReader, withoutAnswers } from '@relay/story';
import { mayReadEnvelopes } from '../access/role.js';
import { EnvelopeId } from './envelope-request.js';
import { readPayload, readStory } from './envelopes.openapi.js';

/** What became of an envelope, and the envelope itself. */
@Controller('envelopes/:id')
@Access({ kind: 'operator', role: 'operator' })
export class EnvelopesController {
  constructor(
    private readonly stories: StoryReader,
    private readonly audit: Audit,
  ) {}

  @Get()
  @Access({ kind: 'operator', role: 'viewer' })
  @Operation(readStory)
  async read(
    @Param('id') given: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
  ): Promise<EnvelopeStory> {
    const clue = clueOf(readQuery(ClueQuery, query));
    const { story, away } = await this.stories.read(readId(given), { clue });
    if (story !== undefined) return mayReadEnvelopes(request) ? story : withoutAnswers(story);
    throw away.length === 0 ? unknown() : nothingWithout(away);
  }

  /** The bytes as its source sent them. Each view of them is reported on `relay.operations` first. */
  @Get('payload')
  @Header('content-type', 'application/json')
  @Header('cache-control', 'no-store')
  @Operation(readPayload)
  async payload(@Param('id') given: string, @Query() query: unknown, @Req() request: FastifyRequest): Promise<Buffer> {
    const envelopeId = readId(given);
    const clue = clueOf(readQuery(ClueQuery, query));
    const { found, isKnown, away } = await this.stories.record(envelopeId, clue).catch((cause: unknown) => {
      throw awayOf('Kafka does not answer at the moment.', cause);
    });
    if (!isKnown) throw away.length === 0 ? unknown() : nothingWithout(away);
    if (found === undefined) throw new ProblemError('not-found', 'The log no longer has this envelope.');
    await this.audit.report({
      event: 'envelope.read',
      operator: callerIdOf(request),
      requestId: request.id,
      envelopeId,
    });
    return found.envelope.bytes;
  }
}

const unknown = (): ProblemError =>
  new ProblemError('not-found', 'Nothing is known of this envelope: it was never accepted, or too long ago.');

const nothingWithout = (away: readonly string[]): ProblemError =>
  awayOf(`Nothing is known of this envelope without what is away: ${away.join(', ')}.`);

const awayOf = (detail: string, cause?: unknown): ProblemError =>
  new ProblemError('unavailable', detail, { headers: { 'retry-after': '5' }, cause });

/** An id that is no UUID names no envelope. */
function readId(given: string): string {
  const id = EnvelopeId.safeParse(given);
  if (!id.success) throw unknown();
  return id.data;
}
