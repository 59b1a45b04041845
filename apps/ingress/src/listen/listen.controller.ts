import { Controller, Get, Req, Res, UseInterceptors } from '@nestjs/common';
import {
  Access,
  CallerFinder,
  callerIdOf,
  PartnerQuota,
  RateLimitInterceptor,
  readQuery,
  Waits,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { ProblemError } from '@relay/problem';
import { Operation } from '@relay/openapi';
import { ListenHeaders, ListenQuery, oneType } from './listen-query.js';
import { ListenStreams } from './listen-streams.js';
import { listen } from './listen.openapi.js';
import type { ToldPosition } from './position.js';
import { StreamKeys } from './stream-keys.js';

/** Each begins with a question to the brokers. */
const OPENINGS = { name: 'listen', points: 20, windowMs: 60_000 };
const ACCESS = { kind: 'bearer', scopes: ['webhooks'] } as const;

/** The last one is for nginx, which would keep events back. */
const HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };

/** A partner's envelopes as they are accepted. */
@Controller('listen')
@Access(ACCESS)
@UseInterceptors(RateLimitInterceptor)
export class ListenController {
  readonly #openings = new PartnerQuota(OPENINGS);

  constructor(
    private readonly streams: ListenStreams,
    private readonly keys: StreamKeys,
    private readonly callers: CallerFinder,
  ) {}

  @Get()
  @Waits()
  @Operation(listen)
  async listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { type: types } = readQuery(ListenQuery, oneType(request.query));
    const told = this.#told(request);
    if (request.method === 'HEAD') return void reply.headers(HEADERS).send('');
    await this.#admit(callerIdOf(request));
    const isPermitted = (): Promise<boolean> => this.#isPermitted(request);
    const { stream } = await this.streams.open({ partnerId: callerIdOf(request), types, told, isPermitted });
    // A client that has left meanwhile tells it no more.
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

  async #admit(partnerId: string): Promise<void> {
    await this.#openings.charge(partnerId, 'You have opened too many streams.', 1);
  }

  async #isPermitted(request: FastifyRequest): Promise<boolean> {
    try {
      await this.callers.callerOf(ACCESS, request);
      return true;
    } catch (error) {
      // While Redis is away nothing has ended.
      return error instanceof ProblemError && error.code === 'unavailable';
    }
  }
}
