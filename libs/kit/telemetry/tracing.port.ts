/** Names and values of a span: ids, words and counts. Never payloads, credentials, or a path or query of an endpoint. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export type SpanKind = 'server' | 'producer' | 'client';

export interface Span {
  /** Names this span to calls within it (W3C Trace Context). */
  readonly traceparent: string;
  /** @param fault kind of failure in one word, the attribute `error.type`; without one the span succeeded */
  end(attributes?: SpanAttributes, fault?: string): void;
}

/**
 * Spans for a collector; absent unless configured (`openTracing`). Parents are arguments, never taken from a context that follows
 * the calls: an envelope is attempted long after its request, and in another process.
 */
export abstract class Tracing {
  /** @param parent a valid `traceparent`; undefined begins a trace */
  abstract start(name: string, kind: SpanKind, parent: string | undefined, attributes: SpanAttributes): Span;

  /** Sends the ended spans within 1.5 s; drops the rest and spans that end later. Never rejects. */
  abstract close(): Promise<void>;
}
