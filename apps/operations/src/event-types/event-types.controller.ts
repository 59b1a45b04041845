import { Controller, Delete, Get, HttpCode, Param, Post, Put, Req, Res } from '@nestjs/common';
import { EventTypeInput } from '@relay/event-types';
import {
  Access,
  type Body,
  etagOf,
  type FastifyReply,
  type FastifyRequest,
  HasVersions,
  readIfMatch,
  StrictBody,
  TakesBody,
} from '@relay/http';
import { ProblemError } from '@relay/problem';
import { z } from 'zod';
import { actorOf } from '../access/operator-guard.js';
import { answerOf, textsOf } from '../http/routes.js';
import { EventTypeDesk, type ListedType } from './event-type-desk.adapter.js';

const EventType = EventTypeInput.extend({
  name: z.string().describe('Its name, which is also that of its Kafka topic.'),
  origin: z
    .enum(['built-in', 'applied'])
    .describe('A built-in type can be archived, and made active again by an empty definition.'),
  revision: z.int().describe('Raised by each change of the schema.'),
  archived: z.boolean().describe('An archived type takes no new envelope and no new webhook.'),
}).meta({ id: 'OperatorsEventType', description: 'An event type with its definition.' });
type EventType = z.infer<typeof EventType>;

const EventTypeList = z.object({ eventTypes: z.array(EventType) }).meta({
  id: 'EventTypes',
  description: 'The built-in event types in their order, then those that were applied, by name.',
});

const Apply = z
  .strictObject({
    eventTypes: z.record(z.string(), EventTypeInput).describe('Definitions by name.'),
    dryRun: z.boolean().default(false).describe('Answers what would change, and changes nothing.'),
    prune: z.boolean().default(false).describe('Archives every applied type that is not named. Built-in types stay.'),
  })
  .meta({ id: 'EventTypesApply', description: 'The definitions that event types are brought to.' });
type Apply = z.infer<typeof Apply>;

const Newest = z.object({
  records: z.int().describe('Number of envelopes that were checked.'),
  refused: z.int().describe('Number of them that the schema refuses.'),
  reasons: z
    .array(z.object({ pointer: z.string(), detail: z.string() }))
    .describe('The first three reasons, without values. Pointers lead into the payload.'),
  incomplete: z
    .enum(['kafka', 'limit'])
    .optional()
    .describe('Set if records were left out: `kafka`, it did not answer; `limit`, after 64 MiB or 4 s.'),
});

const Change = z
  .object({
    name: z.string(),
    change: z.enum(['created', 'changed', 'archived', 'unchanged']),
    revision: z.int().describe('Revision of the schema afterwards.'),
    annotations: z.array(z.string()).describe('Keywords and formats of the schema that nothing checks.'),
    newest: Newest.optional().describe('With `dryRun`: the newest 1,000 records of the type by its changed schema.'),
  })
  .meta({ id: 'EventTypeChange', description: 'What becomes of one event type.' });

const Diff = z
  .object({ dryRun: z.boolean(), changes: z.array(Change) })
  .meta({ id: 'EventTypesDiff', description: 'What was changed, or with `dryRun` what would be.' });

const Text = textsOf('Event types');
const path = { name: { schema: z.string().max(249).describe('Name of the event type.'), example: 'order.paid' } };
const example = { description: 'An order was paid.', sample: { id: 'o_1', total: 12.5 } };
const MAX_BYTES = 4 * 1024 * 1024;

/** The event types of the relay: built in, and applied by operators. */
@Controller('event-types')
@Access({ kind: 'operator', role: 'admin' })
export class EventTypesController {
  constructor(private readonly desk: EventTypeDesk) {}

  @Get()
  @Access({ kind: 'operator', role: 'viewer' })
  @Text('listEventTypes', 'List the event types with their definitions', {
    answer: answerOf('All event types, archived ones among them.', EventTypeList),
  })
  async list(): Promise<z.infer<typeof EventTypeList>> {
    return { eventTypes: (await this.desk.list()).map(shown) };
  }

  @Get(':name')
  @Access({ kind: 'operator', role: 'viewer' })
  @Text('readEventType', 'Read one event type', {
    path,
    answer: answerOf('The event type.', EventType),
    problems: ['not-found'],
  })
  async read(@Param('name') name: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<EventType> {
    const found = (await this.desk.list()).find(({ record }) => record.name === name);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such event type.');
    void reply.header('etag', etagOf(found.record.updatedAt));
    return shown(found);
  }

  @Put(':name')
  @HasVersions()
  @TakesBody({ types: ['application/json'], maxBytes: 256 * 1024 })
  @Text('putEventType', 'Add an event type, or replace its definition', {
    description:
      'Its topics are created first. Where Kafka lets the relay create none, the answer is 409 with the commands to run in `commands`. Processes follow within seconds, without a restart.',
    path,
    body: { isRequired: true, schema: EventTypeInput, example },
    answer: answerOf('What was changed.', Change),
    problems: ['conflict'],
  })
  put(
    @Param('name') name: string,
    @StrictBody(EventTypeInput) body: Body<EventTypeInput>,
    @Req() request: FastifyRequest,
  ): Promise<z.infer<typeof Change>> {
    return this.desk.put(name, body(), actorOf(request), readIfMatch(request.headers['if-match']));
  }

  @Delete(':name')
  @HasVersions()
  @HttpCode(204)
  @Text('archiveEventType', 'Archive an event type', {
    description:
      'It takes no new envelope and no new webhook. Deliveries, retries and replays of what the log holds go on. `PUT` makes an applied type active again.',
    path,
    answer: { description: 'It is archived.' },
    problems: ['not-found', 'conflict'],
  })
  async archive(@Param('name') name: string, @Req() request: FastifyRequest): Promise<void> {
    await this.desk.archive(name, actorOf(request), readIfMatch(request.headers['if-match']));
  }

  @Post('apply')
  @HttpCode(200)
  @TakesBody({ types: ['application/json'], maxBytes: MAX_BYTES })
  @Text('applyEventTypes', 'Bring event types to their definitions', {
    description:
      'Everything is checked before anything is changed. A request that stopped half way can be repeated. With `dryRun`, a changed schema also checks the newest records of its type; `relay.operations` has `envelope.read` with the type.',
    body: { isRequired: true, schema: Apply, example: { eventTypes: { 'order.paid': example }, dryRun: true } },
    answer: answerOf('What was changed.', Diff),
    problems: ['conflict'],
  })
  async apply(@StrictBody(Apply) body: Body<Apply>, @Req() request: FastifyRequest): Promise<z.infer<typeof Diff>> {
    const { eventTypes, dryRun, prune } = body();
    const changes = await this.desk.apply(eventTypes, { isDryRun: dryRun, isPruned: prune }, actorOf(request));
    return { dryRun, changes };
  }
}

function shown({ record: { updatedAt: _at, ...record }, isBuiltIn }: ListedType): EventType {
  return { ...record, origin: isBuiltIn ? 'built-in' : 'applied' };
}
