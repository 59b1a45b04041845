import { setTimeout as delay } from 'node:timers/promises';
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind as OtlpKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as OtlpSpan,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import { RELAY_VERSION, type TelemetryEnv } from '@relay/config';
import { reasonOf, ThrottledLog, type Log } from './log.js';
import { Tracing, type Span, type SpanAttributes, type SpanKind } from './tracing.port.js';

/** Maximum of spans that wait for the collector, about 2 KiB each: a second of a busy worker. Further ones are dropped. */
const MAX_WAITING = 8_192;
/** With the other work of its step of stopping, below the 2 s of that step. */
const FLUSH_MS = 1_500;
const TELL_EVERY_MS = 60_000;

const KINDS: Readonly<Record<SpanKind, OtlpKind>> = {
  server: OtlpKind.SERVER,
  producer: OtlpKind.PRODUCER,
  client: OtlpKind.CLIENT,
};

/** By the names of OpenTelemetry; `ratio` is the share of traces for the samplers by trace id, from 0 to 1. */
const SAMPLERS: Readonly<Record<TelemetryEnv['OTEL_TRACES_SAMPLER'], (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
};

/**
 * Spans over OTLP/HTTP in protobuf, in batches. A slow or absent collector costs spans, never a delivery: the number of waiting
 * spans is bounded, and lost spans are logged once a minute.
 */
export class OtlpTracing extends Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #log: ThrottledLog;
  /** Throttled apart, so that a failed export does not hide how many spans were dropped. */
  readonly #sdkLog: ThrottledLog;

  /** @param attributes of the resource: `service.name` and those of the operator */
  constructor(url: string, attributes: Readonly<Record<string, string>>, env: TelemetryEnv, log: Log) {
    super();
    this.#log = new ThrottledLog(log, TELL_EVERY_MS);
    this.#sdkLog = new ThrottledLog(log, TELL_EVERY_MS);
    // The SDK logs dropped spans and spans that the collector rejected. `#reported` reports failed exports.
    const warn = (text: string): void => this.#tell(text, undefined, this.#sdkLog);
    const diagnostics = { error: none, warn, info: none, debug: none, verbose: none };
    diag.setLogger(diagnostics, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    const exporter = new OTLPTraceExporter({ url, headers: { ...env.OTEL_EXPORTER_OTLP_HEADERS } });
    const processor = new BatchSpanProcessor({ exporter: this.#reported(exporter), maxQueueSize: MAX_WAITING });
    const own = resourceFromAttributes({ 'service.version': RELAY_VERSION, ...attributes });
    this.#provider = new TracerProvider({
      resource: defaultResource().merge(own),
      sampler: SAMPLERS[env.OTEL_TRACES_SAMPLER](env.OTEL_TRACES_SAMPLER_ARG),
      spanProcessors: [processor],
    });
    this.#tracer = this.#provider.getTracer('partner-relay', RELAY_VERSION);
  }

  start(name: string, kind: SpanKind, parent: string | undefined, attributes: SpanAttributes): Span {
    const context = parent === undefined ? ROOT_CONTEXT : within(parent, kind);
    return new StartedSpan(this.#tracer.startSpan(name, { kind: KINDS[kind], attributes }, context));
  }

  async close(): Promise<void> {
    const flushed = this.#provider.shutdown().then(
      () => true,
      () => true, // the exporter reports it
    );
    if (!(await Promise.race([flushed, delay(FLUSH_MS, false, { ref: false })])))
      this.#tell(`the last spans were not taken within ${FLUSH_MS} ms`);
  }

  #reported(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          if (result.error !== undefined) this.#tell(faultOf(result.error), spans.length);
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
    };
  }

  #tell(reason: string, spans?: number, log = this.#log): void {
    log.warn('tracing.fault', 'Spans were lost on their way to the collector; deliveries continue', {
      reason,
      spans,
    });
  }
}

class StartedSpan implements Span {
  constructor(private readonly span: OtlpSpan) {}

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  end(attributes: SpanAttributes = {}, fault?: string): void {
    this.span.setAttributes(attributes);
    if (fault !== undefined) this.span.setAttribute('error.type', fault).setStatus({ code: SpanStatusCode.ERROR });
    this.span.end();
  }
}

/** Section 3.2 of W3C Trace Context: version, trace id, parent id and flags have the same positions in every version. */
function within(parent: string, kind: SpanKind): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.slice(3, 35),
    spanId: parent.slice(36, 52),
    traceFlags: Number.parseInt(parent.slice(53, 55), 16) & TraceFlags.SAMPLED,
    isRemote: kind !== 'producer', // publishing happens within a request of this process
  });
}

/** Names a failed export. `code` is the status of the collector's answer, or the reason of a refused connection. */
const faultOf = (error: Error & { code?: string | number }): string =>
  error.code === undefined ? reasonOf(error) : `${error.code} ${error.message}`.trim();

function none(): void {}
