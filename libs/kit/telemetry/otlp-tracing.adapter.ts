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

/**
 * Maximum spans that wait for the collector, at about 2 KiB each; a busy worker makes as many in a second. More are dropped.
 */
const MAX_WAITING = 8_192;
/** Milliseconds to send the last spans. When a process stops, this step and its other work may take 2 s together. */
const FLUSH_MS = 1_500;
const TELL_EVERY_MS = 60_000;

const KINDS: Readonly<Record<SpanKind, OtlpKind>> = {
  server: OtlpKind.SERVER,
  producer: OtlpKind.PRODUCER,
  client: OtlpKind.CLIENT,
};

/**
 * Samplers by their names in OpenTelemetry. `ratio` is the share of traces that a sampler by trace id takes, from 0 to 1.
 */
const SAMPLERS: Readonly<Record<TelemetryEnv['OTEL_TRACES_SAMPLER'], (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
};

/**
 * Sends spans in batches by OTLP over HTTP, in protobuf. If the collector is slow or absent, spans are lost but no delivery
 * is delayed: the number of waiting spans is limited, and losses are logged at most once a minute.
 */
export class OtlpTracing extends Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #log: ThrottledLog;
  /** A separate throttle for messages of the SDK, so that a failed export does not hide how many spans were dropped. */
  readonly #sdkLog: ThrottledLog;

  /** @param attributes of the resource: `service.name` and those that the operator configured */
  constructor(url: string, attributes: Readonly<Record<string, string>>, env: TelemetryEnv, log: Log) {
    super();
    this.#log = new ThrottledLog(log, TELL_EVERY_MS);
    this.#sdkLog = new ThrottledLog(log, TELL_EVERY_MS);
    // The SDK logs spans that were dropped or that the collector rejected. `#reported` logs failed exports.
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
      () => true, // `#reported` has logged the failure
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

/** W3C Trace Context, section 3.2: version, trace id, parent id and flags have the same positions in every version. */
function within(parent: string, kind: SpanKind): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.slice(3, 35),
    spanId: parent.slice(36, 52),
    traceFlags: Number.parseInt(parent.slice(53, 55), 16) & TraceFlags.SAMPLED,
    isRemote: kind !== 'producer', // publishing happens within a request of this process
  });
}

/** Describes a failed export. `code` is the status of the collector's response, or an error code of the connection. */
const faultOf = (error: Error & { code?: string | number }): string =>
  error.code === undefined ? reasonOf(error) : `${error.code} ${error.message}`.trim();

function none(): void {}
