import { Get, Module, Req, Res } from '@nestjs/common';
import { eventTypeName, eventTypes, ListenEvents } from '@relay/events';
import {
  CallerFinder,
  callerIdOf,
  PartnerQuota,
  readQuery,
  Waits,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { Operation, type OperationText } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { z } from 'zod';
import { PartnerRoutes } from '../access/partner-routes.js';
import { ListenMetrics, ListenStreams } from './listen-streams.js';
import { MAX_POSITION, StreamKeys, type ToldPosition } from './listener.js';

/** The query of `GET /listen`. It has event types, separated by commas. */
const ListenQuery = z.strictObject({
  type: z
    .string()
    .transform((text) => [...new Set(text.split(',').map((name) => name.trim()))])
    .pipe(z.array(eventTypeName('sendable')))
    .default(() => [...eventTypes.shown('sendable')])
    .describe('Event types, comma separated or repeated; all without it.'),
});

const ListenHeaders = z.object({
  'last-event-id': z
    .string()
    .min(1)
    .max(MAX_POSITION)
    .optional()
    .describe('The `id` of the last event that you read: the stream goes on behind it.'),
});

/** Joins several `type` parameters into one. */
const oneType = (query: unknown): unknown => {
  const given = query as { readonly type?: unknown };
  return Array.isArray(given.type) ? { ...given, type: given.type.join(',') } : query;
};

const events = Object.entries(ListenEvents).map(([name, { shape }]) => {
  const members = Object.entries(shape).map(
    ([member, { description }]) =>
      `\`${member}\`${description === undefined ? '' : ` (${description.replace(/\.$/, '')})`}`,
  );
  return `\`${name}\`: ${members.join(', ')}.`;
});

const text: OperationText = {
  id: 'listen',
  tag: 'Deliveries',
  summary: 'Receive your envelopes over this connection',
  description: [
    'For a program under development that no webhook can reach: server-sent events, one for each envelope that a webhook of yours would get, from the moment of the request on. It is a look at the log beside your webhooks: no delivery, attempt or retry comes of it, and an envelope can come twice.',
    'The data of each event is a JSON object.',
    ...events,
    'Each event has an `id`; so does a heartbeat every 15 s. With the last one as `Last-Event-ID`, at any process of the relay, the stream goes on behind it; `skipped` tells where that was more than 10,000 records back or is not in the log any more. A stream ends with its access token.',
  ].join('\n\n'),
  query: ListenQuery,
  headers: ListenHeaders,
  answer: {
    description: 'The events, as they come.',
    mediaType: 'text/event-stream',
    content: {
      schema: z.string(),
      example: 'retry: 1000\nid: v1.k1.AAAA\nevent: open\ndata: {"secret":"whsec_…","types":["task.created"]}\n\n',
    },
  },
};

/** Limits how many streams a partner may open, because each stream begins with requests to the brokers. */
const OPENINGS = { name: 'listen', points: 20, windowMs: 60_000 };
const ACCESS = { kind: 'bearer', scopes: ['webhooks'] } as const;

/** Headers of a stream. Without `x-accel-buffering`, nginx holds events back. */
const HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };

/** A route that streams the envelopes of a partner as they are accepted. */
@PartnerRoutes('listen')
class ListenController {
  readonly #openings = new PartnerQuota(OPENINGS);

  constructor(
    private readonly streams: ListenStreams,
    private readonly keys: StreamKeys,
    private readonly callers: CallerFinder,
  ) {}

  @Get()
  @Waits()
  @Operation(text)
  async listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { type: types } = readQuery(ListenQuery, oneType(request.query));
    const told = this.#told(request);
    if (request.method === 'HEAD') return void reply.headers(HEADERS).send('');
    await this.#openings.charge(callerIdOf(request), 'You have opened too many streams.', 1);
    const isPermitted = (): Promise<boolean> => this.#isPermitted(request);
    const { stream } = await this.streams.open({ partnerId: callerIdOf(request), types, told, isPermitted });
    // If the client has left meanwhile, nothing else destroys the stream.
    if (reply.raw.destroyed) stream.destroy();
    else void reply.headers(HEADERS).send(stream);
  }

  #told(request: FastifyRequest): ToldPosition | undefined {
    const { 'last-event-id': given } = request.headers;
    if (given === undefined || given === '') return undefined;
    const read = ListenHeaders.safeParse({ 'last-event-id': given });
    const told = read.success ? this.keys.opened(callerIdOf(request), String(given)) : undefined;
    if (told !== undefined) return told;
    throw new ProblemError('invalid-request', 'Last-Event-ID is not the id of an event that this relay sent you.');
  }

  async #isPermitted(request: FastifyRequest): Promise<boolean> {
    try {
      await this.callers.callerOf(ACCESS, request);
      return true;
    } catch (error) {
      // While Redis does not answer, it is not known that the permission has ended, so the stream goes on.
      return error instanceof ProblemError && error.code === 'unavailable';
    }
  }
}

@Module({ controllers: [ListenController], providers: [StreamKeys, ListenMetrics, ListenStreams] })
export class ListenModule {}
