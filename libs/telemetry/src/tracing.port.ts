/** Names and values of a span: ids, words and counts. Never payloads, credentials, or a path or query of an endpoint. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export type SpanKind = 'server' | 'producer' | 'client';

export interface Span {
  /** Names this span to what is called within it (W3C Trace Context). */
  readonly traceparent: string;
  /** @param fault kind of failure in one word, told as `error.type`; without one the span is not a failed one */
  end(attributes?: SpanAttributes, fault?: string): void;
}

/**
 * Spans for a collector. There is none where nobody asked for it (`openTracing`), and then nothing may depend on it. Parents are
 * handed over, never taken from a context that follows the calls: an envelope is attempted long after, and elsewhere.
 */
export abstract class Tracing {
  /** @param parent a valid `traceparent`; undefined begins a trace */
  abstract start(name: string, kind: SpanKind, parent: string | undefined, attributes: SpanAttributes): Span;

  /** Sends what has ended, within 1.5 s; what is left then is dropped, as are spans that end later. Never rejects. */
  abstract close(): Promise<void>;
}
