/**
 * Attributes of a span: ids, words and counts, but never payloads, credentials, or the path or query of an endpoint's URL.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export type SpanKind = 'server' | 'producer' | 'client';

export interface Span {
  /** Identifies this span to the calls that are made within it (W3C Trace Context). */
  readonly traceparent: string;
  /** @param fault kind of failure in one word, for the attribute `error.type`; undefined if the span succeeded */
  end(attributes?: SpanAttributes, fault?: string): void;
}

/**
 * Records spans for a collector. A process has no tracing unless it is configured (`openTracing`). The parent of a span is
 * always passed as an argument and never taken from an async context, because an envelope is attempted long after its
 * request, and in another process.
 */
export abstract class Tracing {
  /** @param parent a valid `traceparent`; undefined to begin a new trace */
  abstract start(name: string, kind: SpanKind, parent: string | undefined, attributes: SpanAttributes): Span;

  /** Sends the ended spans within 1.5 s, and drops all others. The promise never rejects. */
  abstract close(): Promise<void>;
}
