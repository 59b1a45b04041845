/** The endpoint does not speak HTTP/1.1 (RFC 9112), or more of it than is read. */
export class ProtocolFault extends Error {
  override readonly name = 'ProtocolFault';
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const NOT_TEXT = /[^\t\r\n\x20-\x7e\x80-\xff]/;
const HALF_END = /\r(?!\n)|(?<!\r)\n/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const LENGTH = /^\d{1,15}$/;

/** What is read of a head. */
export interface Fields {
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

/** RFC 9112 section 6.3: no body, whatever the head says. */
export const isBodiless = (status: number): boolean => status < 200 || status === 204 || status === 304;

export const saysClose = ({ isOld, connection }: Fields): boolean =>
  connection.includes('close') || (isOld && !connection.includes('keep-alive'));

/**
 * Whether the endpoint may send more than belongs to the answer, which would be the beginning of the next one: a body where there
 * is none, or one whose encodings are not those that every reader takes alike (RFC 9112 sections 6.1 and 6.3).
 */
export function isAmbiguous({ status, isOld, length, encodings, isEncoded }: Fields): boolean {
  if (isBodiless(status)) return (length ?? 0) > 0 || encodings !== undefined || isEncoded;
  return encodings !== undefined && (isOld || encodings.join() !== 'chunked');
}

/** @throws ProtocolFault */
export function checkText(text: string): void {
  if (HALF_END.test(text)) throw new ProtocolFault('a line of the head ends with LF or CR alone; HTTP/1.1 needs CR LF');
  if (NOT_TEXT.test(text)) throw new ProtocolFault('the head has a control character');
}

/** @throws ProtocolFault */
export function readHead(text: string): Fields {
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

/** The name of a header or trailer field. @throws ProtocolFault */
export function nameOf(line: string): string {
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

/** Without white space around it. `trim` alone would also take a no-break space, and read a word that the endpoint did not write. */
const trimmed = (value: string): string => value.replaceAll('\xa0', '?').trim();

const tokens = (value: string): string[] => value.split(',').map((token) => token.trim().toLowerCase());
