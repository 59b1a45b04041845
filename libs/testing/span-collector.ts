import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  /** `service.name` of its process. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isError: boolean;
}

interface Export {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A collector of spans: a real HTTP server that reads OTLP in protobuf. */
export class SpanCollector {
  readonly exports: Export[] = [];
  /** Status of its answers; `hang` never answers. */
  answer: number | 'hang' = 200;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.exports.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
        if (this.answer !== 'hang') response.writeHead(this.answer).end();
      });
    });
  }

  static async open(): Promise<SpanCollector> {
    const collector = new SpanCollector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Every received span, whatever the answer was. */
  get bytes(): Buffer {
    return Buffer.concat(this.exports.map(({ body }) => body));
  }

  get spans(): CollectedSpan[] {
    return this.exports.flatMap(({ body }) => spansOf(body));
  }

  of(traceId: string): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

// Reads protobuf by the field numbers of opentelemetry-proto 1.9.

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
const ERROR = 2;

function spansOf(body: Buffer): CollectedSpan[] {
  return messages(body, 1).flatMap((resourceSpans) => {
    const { 'service.name': service = '' } = attributesOf(messages(resourceSpans, 1)[0] ?? Buffer.alloc(0), 1);
    const spans = messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2));
    return spans.map((span) => spanOf(span, String(service)));
  });
}

function spanOf(span: Buffer, service: string): CollectedSpan {
  const [traceId = '', spanId = '', parentId = ''] = [1, 2, 4].map((field) =>
    messages(span, field)[0]?.toString('hex'),
  );
  const [status = Buffer.alloc(0)] = messages(span, 15);
  return {
    service,
    traceId,
    spanId,
    parentId,
    name: String(messages(span, 5)[0]),
    kind: KINDS[numberOf(span, 6)] ?? '',
    attributes: attributesOf(span, 9),
    isError: numberOf(status, 3) === ERROR,
  };
}

function attributesOf(message: Buffer, field: number): Record<string, string | number> {
  const entries = messages(message, field).map((pair): [string, string | number] => {
    const [key, value = Buffer.alloc(0)] = [messages(pair, 1)[0], messages(pair, 2)[0]];
    const [text] = messages(value, 1);
    return [String(key), text === undefined ? numberOf(value, 2) || numberOf(value, 3) : text.toString()];
  });
  return Object.fromEntries(entries);
}

const messages = (bytes: Buffer, field: number): Buffer[] =>
  [...fieldsOf(bytes)].flatMap(([number, value]) => (number === field && Buffer.isBuffer(value) ? [value] : []));

const numberOf = (bytes: Buffer, field: number): number =>
  Number([...fieldsOf(bytes)].find(([number, value]) => number === field && typeof value === 'bigint')?.[1] ?? 0);

function* fieldsOf(bytes: Buffer): Generator<[field: number, value: Buffer | bigint]> {
  for (let at = 0; at < bytes.length;) {
    const tag = varint(bytes, at);
    at = tag.end;
    const [field, wire] = [Number(tag.value >> 3n), Number(tag.value & 7n)];
    if (wire === 0) {
      const { value, end } = varint(bytes, at);
      yield [field, value];
      at = end;
    } else if (wire === 2) {
      const { value: length, end } = varint(bytes, at);
      at = end + Number(length);
      yield [field, bytes.subarray(end, at)];
    } else if (wire === 1 || wire === 5) at += wire === 1 ? 8 : 4;
    else throw new Error(`no protobuf: wire type ${wire}`);
  }
}

function varint(bytes: Buffer, from: number): { value: bigint; end: number } {
  let value = 0n;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes.readUInt8(at);
    value |= BigInt(byte & 0x7f) << BigInt(7 * (at - from));
    if (byte < 0x80) return { value, end: at + 1 };
  }
  throw new Error('no protobuf: a number without an end');
}
