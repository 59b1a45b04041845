/** The endpoint does not speak HTTP/1.1 (RFC 9112), or its response exceeds a limit of the reader. */
export class ProtocolFault extends Error {
  override readonly name = 'ProtocolFault';
}

/** The facts that the relay needs from the status line and headers of a final response. */
export interface AnswerHead {
  readonly status: number;
  /** The `Retry-After` header as received. */
  readonly retryAfter: string | undefined;
  /** The `Content-Type` header as received; `encoded` if the body is compressed. */
  readonly contentType: string | undefined;
  /** The status line and the headers as received, each byte as one character. */
  readonly text: string;
  /** How long the endpoint keeps an unused connection open, by its `Keep-Alive` header. */
  readonly keepAliveMs: number | undefined;
  /** Whether the connection must not be reused: the endpoint closes it, or the end of the response is not certain. */
  readonly closes: boolean;
  /** Whether the body ends only when the endpoint closes the connection. */
  readonly endsAtClose: boolean;
}

export interface AnswerLimits {
  /** Maximum bytes of the status lines and headers of one response, including its interim responses. */
  readonly headBytes: number;
  /** Maximum bytes of the body, including the framing of its chunks. */
  readonly bodyBytes: number;
  /**
   * Maximum number of interim responses. RFC 9110 section 15.2 sets no limit, but no honest endpoint sends more than a few.
   */
  readonly interimAnswers: number;
  /** Bytes of a body that the reader keeps, from its beginning. */
  readonly keptBytes: number;
}

type Progress = 'more' | 'end' | 'too-long';

const HEAD_END = '\r\n\r\n';
const VERSION = 'HTTP/1.';
const NO_HTTP = 'the answer is not HTTP/1.1';
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?$/;
const KEEP_ALIVE = /(?:^|[,; \t])timeout=(\d{1,6})/i;
const ENCODED = 'encoded';
/** Maximum length of a line in the framing of a chunked body: a chunk size or a trailer field. */
const MAX_LINE = 1_024;

/**
 * Reads the response to one request. It looks for the end of the body, after which the connection can be reused, and keeps
 * only the beginning of the body. Whatever violates HTTP/1.1 is a fault and is never repaired, for example a folded line, a
 * bare line feed, two lengths, or a length together with chunks.
 */
export class AnswerReader {
  /** The received bytes of a status line and headers that are not complete yet. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #headBytes = 0;
  #interim = 0;
  #closes = false;
  /** Status line and headers of the final response, as soon as they have been read. */
  head: AnswerHead | undefined;
  /** Whether the endpoint sent bytes after the end of the response. */
  hasMore = false;
  #bodyBytes = 0;
  /** Bytes of a body with a `Content-Length` that have not arrived yet. */
  #left = 0;
  #chunks: ChunkedBody | undefined;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(private readonly limits: AnswerLimits) {}

  /** The beginning of the body, without the framing of its chunks. */
  get kept(): Buffer {
    return Buffer.concat(this.#kept);
  }

  /** @throws ProtocolFault */
  read(bytes: Buffer): Progress {
    const rest = this.head === undefined ? this.#readHeads(bytes) : bytes;
    return rest === undefined ? 'more' : this.#readBody(rest);
  }

  /** @returns the bytes after the headers of the final response; undefined while the headers are incomplete */
  #readHeads(received: Buffer): Buffer | undefined {
    this.#parts.push(received);
    this.#partBytes += received.length;
    // Headers can only end with a line feed. Without this check, headers that arrive byte by byte would be parsed again for
    // each byte.
    if (this.#parts.length > 1 && !received.includes('\n')) return this.#await();
    let bytes = this.#parts.length === 1 ? received : Buffer.concat(this.#parts);
    for (;;) {
      const end = bytes.indexOf(HEAD_END, 0, 'latin1');
      if (end === -1) {
        if (!VERSION.startsWith(bytes.toString('latin1', 0, VERSION.length)))
          throw new ProtocolFault(isHttp2(bytes) ? 'the endpoint answered in HTTP/2; HTTP/1.1 is needed' : NO_HTTP);
        // Faults are reported before the headers are complete, because headers with other line ends never become complete.
        checkText(bytes.toString('latin1', 0, bytes.lastIndexOf('\n') + 1));
        [this.#parts, this.#partBytes] = [[bytes], bytes.length];
        return this.#await();
      }
      if (this.#headBytes + end > this.limits.headBytes) throw tooLong();
      const text = bytes.toString('latin1', 0, end);
      const fields = readHead(text);
      this.#headBytes += end + HEAD_END.length;
      bytes = bytes.subarray(end + HEAD_END.length);
      this.#closes ||= saysClose(fields) || isAmbiguous(fields);
      if (fields.status >= 200) {
        this.#begin(fields, text);
        return bytes;
      }
      this.#interim += 1;
      if (fields.status === 101 || this.#interim > this.limits.interimAnswers)
        throw new ProtocolFault(fields.status === 101 ? 'an upgrade nobody asked for' : 'too many interim answers');
    }
  }

  #await(): undefined {
    if (this.#headBytes + this.#partBytes > this.limits.headBytes) throw tooLong();
  }

  #begin(fields: Fields, text: string): void {
    const { status, length, encodings, keepAlive, retryAfter, contentType, isEncoded } = fields;
    const isChunked = encodings?.at(-1) === 'chunked';
    const hasNoBody = isBodiless(status);
    if (isChunked && !hasNoBody) this.#chunks = new ChunkedBody();
    this.#left = hasNoBody ? 0 : (length ?? 0);
    const endsAtClose = !hasNoBody && !isChunked && length === undefined;
    const seconds = KEEP_ALIVE.exec(keepAlive)?.[1];
    this.head = {
      status,
      retryAfter,
      contentType: isEncoded ? ENCODED : contentType,
      text,
      keepAliveMs: seconds === undefined ? undefined : Number(seconds) * 1_000,
      closes: this.#closes || endsAtClose,
      endsAtClose,
    };
  }

  #readBody(bytes: Buffer): Progress {
    this.#bodyBytes += bytes.length;
    if (this.#chunks !== undefined) {
      const end = this.#chunks.read(bytes, (data) => this.#keep(data));
      if (end !== undefined) return this.#ended(end < bytes.length);
    } else if (this.head?.endsAtClose === true) this.#keep(bytes);
    else {
      this.#keep(bytes.subarray(0, this.#left));
      this.#left -= bytes.length;
      if (this.#left <= 0) return this.#ended(this.#left < 0);
    }
    return this.#bodyBytes > this.limits.bodyBytes || this.#left > this.limits.bodyBytes ? 'too-long' : 'more';
  }

  #keep(data: Buffer): void {
    const { keptBytes } = this.limits;
    if (this.#keptBytes === keptBytes) return;
    const kept = data.subarray(0, keptBytes - this.#keptBytes);
    this.#kept.push(kept);
    this.#keptBytes += kept.length;
  }

  #ended(hasMore: boolean): 'end' {
    this.hasMore = hasMore;
    return 'end';
  }
}

/** Finds the end of a chunked body (RFC 9112 section 7.1). */
class ChunkedBody {
  #expects: 'size' | 'data' | 'data-end' | 'trailer' = 'size';
  #left = 0;
  #line = '';

  /** @returns the index in `bytes` at which the body ends; undefined if the body continues after these bytes */
  read(bytes: Buffer, take: (data: Buffer) => void): number | undefined {
    for (let at = 0; at < bytes.length;) {
      if (this.#expects === 'data') {
        const taken = Math.min(this.#left, bytes.length - at);
        take(bytes.subarray(at, at + taken));
        this.#left -= taken;
        at += taken;
        if (this.#left === 0) this.#expects = 'data-end';
        continue;
      }
      const feed = bytes.indexOf('\n', at, 'latin1');
      const end = feed === -1 ? bytes.length : feed;
      if (this.#line.length + end - at > MAX_LINE) throw new ProtocolFault('a line of a chunked body is too long');
      this.#line += bytes.toString('latin1', at, end);
      at = end + 1;
      if (feed === -1) return undefined;
      const line = this.#line;
      this.#line = '';
      if (!line.endsWith('\r')) throw new ProtocolFault('a line of a chunked body ends with a bare line feed');
      if (this.#isLast(line.slice(0, -1))) return at;
    }
    return undefined;
  }

  #isLast(line: string): boolean {
    if (this.#expects === 'trailer') {
      if (line === '') return true;
      checkText(line);
      nameOf(line);
      return false;
    }
    if (this.#expects === 'data-end') {
      if (line !== '') throw new ProtocolFault('a chunk is longer than its size');
      this.#expects = 'size';
      return false;
    }
    const size = CHUNK_SIZE.exec(line)?.[1];
    if (size === undefined) throw new ProtocolFault('a chunk has no size');
    this.#left = Number.parseInt(size, 16);
    this.#expects = this.#left === 0 ? 'trailer' : 'data';
    return false;
  }
}

/**
 * Recognises HTTP/2. RFC 9113 section 3.4: the first frame of a server is SETTINGS (4), or GOAWAY (7) if the server gives
 * up. Both are on stream 0.
 */
const isHttp2 = (bytes: Buffer): boolean =>
  bytes.length >= 9 && bytes[0] === 0 && (bytes[3] === 4 || bytes[3] === 7) && bytes.readUInt32BE(5) === 0;

const tooLong = (): ProtocolFault => new ProtocolFault('the head of the answer is too long');

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const NOT_TEXT = /[^\t\r\n\x20-\x7e\x80-\xff]/;
const HALF_END = /\r(?!\n)|(?<!\r)\n/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const LENGTH = /^\d{1,15}$/;

/** The status and the header values that `readHead` parses. */
interface Fields {
  readonly status: number;
  readonly isOld: boolean;
  length: number | undefined;
  encodings: string[] | undefined;
  connection: string[];
  keepAlive: string;
  retryAfter: string | undefined;
  contentType: string | undefined;
  isEncoded: boolean;
}

/** RFC 9112 section 6.3: a response with one of these status codes has no body, whatever its headers say. */
const isBodiless = (status: number): boolean => status < 200 || status === 204 || status === 304;

const saysClose = ({ isOld, connection }: Fields): boolean =>
  connection.includes('close') || (isOld && !connection.includes('keep-alive'));

/**
 * Returns whether the endpoint may send more bytes than belong to the response. This is so if the headers announce a body
 * that the status does not allow, or an encoding that not every reader interprets alike (RFC 9112 sections 6.1 and 6.3). The
 * relay cannot distinguish such bytes from the next response.
 */
function isAmbiguous({ status, isOld, length, encodings, isEncoded }: Fields): boolean {
  if (isBodiless(status)) return (length ?? 0) > 0 || encodings !== undefined || isEncoded;
  return encodings !== undefined && (isOld || encodings.join() !== 'chunked');
}

/** @throws ProtocolFault */
function checkText(text: string): void {
  if (HALF_END.test(text)) throw new ProtocolFault('a line of the head ends with LF or CR alone; HTTP/1.1 needs CR LF');
  if (NOT_TEXT.test(text)) throw new ProtocolFault('the head has a control character');
}

/** @throws ProtocolFault */
function readHead(text: string): Fields {
  checkText(text);
  const lines = text.split('\r\n');
  const [, minor, status] = STATUS_LINE.exec(lines[0] ?? '') ?? [];
  if (status === undefined) throw new ProtocolFault('the answer does not begin with a status line of HTTP/1.1');
  const fields: Fields = {
    status: Number(status),
    isOld: minor === '0',
    length: undefined,
    encodings: undefined,
    connection: [],
    keepAlive: '',
    retryAfter: undefined,
    contentType: undefined,
    isEncoded: false,
  };
  for (let n = 1; n < lines.length; n += 1) readField(fields, lines[n] ?? '');
  if (fields.length !== undefined && fields.encodings !== undefined)
    throw new ProtocolFault('the answer has both content-length and transfer-encoding');
  return fields;
}

/**
 * Returns the name of a header or trailer field.
 * @throws ProtocolFault
 */
function nameOf(line: string): string {
  const name = line.slice(0, Math.max(line.indexOf(':'), 0));
  if (!NAME.test(name)) throw new ProtocolFault('a line of the head is no header field');
  return name;
}

function readField(fields: Fields, line: string): void {
  const name = nameOf(line);
  const value = (): string => trimmed(line.slice(name.length + 1));
  switch (name.toLowerCase()) {
    case 'content-length':
      if (fields.length !== undefined || !LENGTH.test(value()))
        throw new ProtocolFault('the content-length is not one number');
      fields.length = Number(value());
      return;
    case 'transfer-encoding':
      fields.encodings = [...(fields.encodings ?? []), ...tokens(value())];
      return;
    case 'connection':
      fields.connection.push(...tokens(value()));
      return;
    case 'keep-alive':
      fields.keepAlive = value();
      return;
    case 'retry-after':
      fields.retryAfter ??= value();
      return;
    case 'content-type':
      fields.contentType ??= value();
      return;
    case 'content-encoding':
      fields.isEncoded = true;
  }
}

/**
 * Removes surrounding white space. `trim` also removes a no-break space, which is not white space in HTTP, so it is replaced
 * by `?` first. Otherwise `close` with a no-break space would read as `close`.
 */
const trimmed = (value: string): string => value.replaceAll('\xa0', '?').trim();

const tokens = (value: string): string[] => value.split(',').map((token) => token.trim().toLowerCase());
