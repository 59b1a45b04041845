import type { DeliveryRequest } from './request.js';

/** A request that cannot be written: the fault is the relay's own, or that of a stored credential. */
export class UnwritableRequest extends Error {
  override readonly name = 'UnwritableRequest';
}

const TARGET = /^\/[\x21-\x7e]*$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Returns the bytes of a request as they are sent (RFC 9112).
 * @param target path and query
 * @throws UnwritableRequest if a part could be read as the end of its line
 */
export function requestBytes(host: string, target: string, { method, headers, body }: DeliveryRequest): Buffer {
  if (!TARGET.test(target)) throw new UnwritableRequest('the path has a character that no request may have');
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (!NAME.test(name) || !VALUE.test(value)) throw new UnwritableRequest(`the header ${name} cannot be sent`);
    head += `${name}: ${value}\r\n`;
  }
  head += `content-length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, 'latin1');
  body.copy(bytes, head.length);
  return bytes;
}
