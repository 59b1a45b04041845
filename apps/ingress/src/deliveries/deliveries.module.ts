import { Controller, HttpCode, Inject, Module, Post, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { headerOf } from '@relay/access';
import {
  continueTrace,
  isTraceparent,
  readCloudEvent,
  readEnvelope,
  type AcceptedEnvelope,
  type SenderRules,
} from '@relay/events';
import {
  Access,
  callerOf,
  IgnoresUnknown,
  mediaTypeOf,
  requestFacts,
  TakesBody,
  type FastifyRequest,
} from '@relay/http';
import { ClientDirectory, typeRefusal } from '@relay/identity';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { PublishFailed } from '@relay/publishing';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { reasonOf, ThrottledLog, Tracing } from '@relay/telemetry';
import type { FastifyInstance } from 'fastify';
import { Acceptance, IngressMetrics, type EnvelopeSender } from './acceptance.js';
import {
  CLOUD_EVENT,
  CLOUD_EVENTS,
  operations,
  type BatchAnswer,
  type BatchResult,
  type Receipt,
} from './deliveries.openapi.js';
import {
  assertPartners,
  audienceOf,
  inTurns,
  MAX_BATCH_BYTES,
  readPart,
  readReceived,
  splitBatch,
} from './received.js';

const NDJSON = 'application/x-ndjson';

const FAULTS = {
  // An envelope may be too long although the body, the data of its CloudEvent, is short enough.
  'too-long': ['payload-too-large', undefined],
  forbidden: ['type-not-permitted', undefined],
  malformed: ['malformed-json', 'The body is not the JSON that this relay accepts.'],
  invalid: ['invalid-body', 'The body is not an envelope.'],
} as const;

/** Envelopes of a batch that the log did not acknowledge. */
type Unacknowledged = { readonly envelopeId: string; readonly reason: string }[];

/** Accepts envelopes. It answers 202 only after the log has acknowledged them. */
@Controller('deliveries')
@Access({ kind: 'source' })
class DeliveriesController {
  constructor(
    private readonly acceptance: Acceptance,
    private readonly metrics: IngressMetrics,
    private readonly log: ThrottledLog,
    private readonly clients: ClientDirectory,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  @Post()
  @IgnoresUnknown()
  @Operation(operations.sendEnvelope)
  @HttpCode(202)
  @TakesBody({
    types: ['application/json', CLOUD_EVENT],
    jsonBeside: 'ce-specversion', // CloudEvents SDKs leave the content type out in binary mode
  })
  async one(@Req() request: FastifyRequest): Promise<Receipt> {
    const { audience, rules, sender } = await this.#originOf(request);
    const envelope = this.#read(request, audience, rules);
    const { id, type } = envelope;
    request.envelopeId = id;
    try {
      const status = await this.acceptance.accept(envelope, sender);
      this.metrics.count(type, status);
      if (status !== 'conflict') return { id, type, status };
    } catch (error) {
      if (!(error instanceof PublishFailed)) throw error;
      this.metrics.count(type, 'unavailable');
      throw publishProblem(error);
    }
    throw new ProblemError('conflict', 'The relay has an envelope with this id and a different content or audience.', {
      members: { id },
    });
  }

  @Post('batch')
  @IgnoresUnknown()
  @Operation(operations.sendBatch)
  @HttpCode(200)
  @TakesBody({ types: ['application/json', NDJSON, CLOUD_EVENTS], maxBytes: MAX_BATCH_BYTES })
  async batch(@Req() request: FastifyRequest): Promise<BatchAnswer> {
    const { audience, rules, sender } = await this.#originOf(request);
    const type = mediaTypeOf(request.headers);
    const parts = splitBatch(request.rawBody, type === NDJSON);
    const readOne = type === CLOUD_EVENTS ? readCloudEvent : readEnvelope;
    const failures: Unacknowledged = [];
    const take = async (part: Buffer): Promise<BatchResult> => {
      const read = readPart(part, audience, rules, readOne);
      const result = 'status' in read ? read : await this.#acceptPart(read, sender, failures);
      this.metrics.count('type' in read ? read.type : 'unknown', result.status);
      return result;
    };
    const answer = { results: await inTurns(parts, take) };
    const [first] = failures;
    if (first !== undefined)
      this.log.warn('request.unavailable', 'The log did not acknowledge envelopes of a batch', {
        ...requestFacts(request),
        ...first,
        unavailable: failures.length,
      });
    return answer;
  }

  async #originOf(
    request: FastifyRequest,
  ): Promise<{ audience: string[]; rules: SenderRules; sender: EnvelopeSender }> {
    const caller = callerOf(request);
    const header = headerOf(request, 'relay-partner');
    const audience = audienceOf(header, caller.audience, this.config.REQUIRE_AUDIENCE);
    // Only a header needs the check: a source is bound only to existing partners.
    if (header !== undefined) await assertPartners(audience, this.clients);
    const traceparent = continueTrace(headerOf(request, 'traceparent'));
    // Log lines about the request name the trace of its envelopes.
    request.raw.headers['traceparent'] = traceparent;
    const rules: SenderRules = {
      maxBytes: this.config.MAX_ENVELOPE_BYTES,
      typeRefusal: (type) => typeRefusal(caller.types, type),
    };
    return { audience, rules, sender: { clientId: caller.clientId, traceparent } };
  }

  #read(
    { headers, rawBody: bytes }: FastifyRequest,
    audience: readonly string[],
    rules: SenderRules,
  ): AcceptedEnvelope {
    const result = readReceived(headers, bytes ?? Buffer.alloc(0), audience, rules);
    if (result.ok) return result.envelope;
    this.metrics.count('unknown', 'invalid');
    if (bytes === undefined)
      throw new ProblemError('invalid-body', 'An envelope is expected: {"id","type","payload"}.');
    const [code, detail] = FAULTS[result.fault];
    throw new ProblemError(code, detail ?? result.errors[0]?.detail ?? '', { errors: result.errors });
  }

  async #acceptPart(
    envelope: AcceptedEnvelope,
    sender: EnvelopeSender,
    failures: Unacknowledged,
  ): Promise<BatchResult> {
    const { id } = envelope;
    try {
      return { id, status: await this.acceptance.accept(envelope, sender) };
    } catch (error) {
      if (!(error instanceof PublishFailed)) throw error;
      failures.push({ envelopeId: id, reason: reasonOf(error) });
      return { id, status: 'unavailable' };
    }
  }
}

/** Returns the problem for the sender of an envelope that the log did not acknowledge. */
function publishProblem(failure: PublishFailed): ProblemError {
  const isStored =
    // A broker refuses a valid envelope only because of wrong settings, so the sender must repeat it.
    failure.reason === 'overloaded' || failure.reason === 'refused'
      ? 'Nothing was stored: repeat the request.'
      : 'It may have been stored: repeat it with the same id, which is safe.';
  return new ProblemError('unavailable', `The log did not acknowledge the envelope. ${isStored}`, {
    headers: { 'retry-after': failure.reason === 'overloaded' ? '1' : '2' },
    cause: failure,
  });
}

const BRING_ENVELOPES = new Set(['/deliveries', '/deliveries/batch']);

/** Opens a span for each request with envelopes. Its records and log lines belong to the span. */
function traceRequests(fastify: FastifyInstance, tracing: Tracing): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? '';
    if (request.method !== 'POST' || !BRING_ENVELOPES.has(route)) return done();
    const { traceparent } = request.headers;
    const parent = typeof traceparent === 'string' && isTraceparent(traceparent) ? traceparent : undefined;
    const span = tracing.start(`POST ${route}`, 'server', parent, {
      'http.request.method': 'POST',
      'http.route': route,
    });
    request.raw.headers['traceparent'] = span.traceparent;
    reply.raw.once('close', () => {
      const { statusCode: status, writableFinished: isAnswered } = reply.raw;
      if (isAnswered) span.end({ 'http.response.status_code': status }, status >= 500 ? String(status) : undefined);
      else span.end({}, 'aborted');
    });
    return done();
  });
}

/** Accepts envelopes over HTTP and appends them to the log. */
@Module({ controllers: [DeliveriesController], providers: [IngressMetrics, Acceptance] })
export class DeliveriesModule {
  constructor(host: HttpAdapterHost<FastifyAdapter>, @Inject(Tracing) tracing: Tracing | undefined) {
    // Must run before the routes are registered, because a route gets only the hooks that exist by then.
    if (tracing !== undefined) traceRequests(host.httpAdapter.getInstance(), tracing);
  }
}
