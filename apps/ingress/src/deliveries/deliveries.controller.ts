import { Controller, HttpCode, Inject, Injectable, Post, Req } from '@nestjs/common';
import { headerOf } from '@relay/access';
import {
  continueTrace,
  EVENT_TYPES,
  MAX_ENVELOPE_BYTES,
  readCloudEvent,
  readEnvelope,
  type AcceptedEnvelope,
  type EventType,
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
import { ClientDirectory } from '@relay/identity';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { PublishFailed } from '@relay/publishing';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { Counter, Histogram, Registry } from 'prom-client';
import { Acceptance, type Sender } from './acceptance.js';
import {
  BATCH_STATUSES,
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

/** The metrics of the ingress. */
@Injectable()
export class IngressMetrics {
  readonly #events: Counter<'event_type' | 'result'>;
  readonly #publishing: Histogram;

  constructor(registry: Registry) {
    this.#events = new Counter({
      name: 'relay_ingress_events_total',
      help: 'Envelopes received, by event type (unknown where none could be read) and answer.',
      labelNames: ['event_type', 'result'],
      registers: [registry],
    });
    // Every series begins with 0; otherwise a rate misses its first event.
    for (const event_type of [...EVENT_TYPES, 'unknown'])
      for (const result of BATCH_STATUSES) this.#events.inc({ event_type, result }, 0);
    this.#publishing = new Histogram({
      name: 'relay_publish_duration_seconds',
      help: 'From handing an envelope to the publisher to the acknowledgement of all in-sync replicas.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    });
  }

  count(eventType: EventType | 'unknown', result: BatchResult['status']): void {
    this.#events.inc({ event_type: eventType, result });
  }

  /** Starts the measurement of a publish; the returned function ends it. */
  timePublish(): () => void {
    return this.#publishing.startTimer();
  }
}

const NDJSON = 'application/x-ndjson';

const FAULTS = {
  // An envelope may be too long although the body, the data of its CloudEvent, is short enough.
  'too-long': ['payload-too-large', 'The envelope is longer than 256 KiB.'],
  malformed: ['malformed-json', 'The body is not the JSON that this relay accepts.'],
  invalid: ['invalid-body', 'The body is not an envelope.'],
} as const;

/** Envelopes of a batch that the log did not acknowledge. */
type Unacknowledged = { readonly envelopeId: string; readonly reason: string }[];

/** Accepts envelopes. It answers 202 only after the log has acknowledged them. */
@Controller('deliveries')
@Access({ kind: 'source' })
export class DeliveriesController {
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
    maxBytes: MAX_ENVELOPE_BYTES,
    jsonBeside: 'ce-specversion', // CloudEvents SDKs leave the content type out in binary mode
  })
  async one(@Req() request: FastifyRequest): Promise<Receipt> {
    const { audience, sender } = await this.#originOf(request);
    const envelope = this.#read(request, audience);
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
    const { audience, sender } = await this.#originOf(request);
    const type = mediaTypeOf(request.headers);
    const parts = splitBatch(request.rawBody, type === NDJSON);
    const readOne = type === CLOUD_EVENTS ? readCloudEvent : readEnvelope;
    const failures: Unacknowledged = [];
    const take = async (part: Buffer): Promise<BatchResult> => {
      const read = readPart(part, audience, readOne);
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

  async #originOf(request: FastifyRequest): Promise<{ audience: string[]; sender: Sender }> {
    const caller = callerOf(request);
    const header = headerOf(request, 'relay-partner');
    const audience = audienceOf(header, caller.audience, this.config.REQUIRE_AUDIENCE);
    // Only a header needs the check: a source is bound only to existing partners.
    if (header !== undefined) await assertPartners(audience, this.clients);
    const traceparent = continueTrace(headerOf(request, 'traceparent'));
    // Log lines about the request name the trace of its envelopes.
    request.raw.headers['traceparent'] = traceparent;
    return { audience, sender: { clientId: caller.clientId, traceparent } };
  }

  #read({ headers, rawBody: bytes }: FastifyRequest, audience: readonly string[]): AcceptedEnvelope {
    const result = readReceived(headers, bytes ?? Buffer.alloc(0), audience);
    if (result.ok) return result.envelope;
    this.metrics.count('unknown', 'invalid');
    if (bytes === undefined)
      throw new ProblemError('invalid-body', 'An envelope is expected: {"id","type","payload"}.');
    const [code, detail] = FAULTS[result.fault];
    throw new ProblemError(code, detail, { errors: result.errors });
  }

  async #acceptPart(envelope: AcceptedEnvelope, sender: Sender, failures: Unacknowledged): Promise<BatchResult> {
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
