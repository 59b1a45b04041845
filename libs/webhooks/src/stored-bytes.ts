/**
 * Bytes of UTF-8 that a text takes in Redis: in JSON of Redis' own encoder, which escapes control characters and DEL to six bytes
 * each, and slashes to two.
 */
export function storedBytes(text: string): number {
  const escaped = Buffer.byteLength(JSON.stringify(text)) - 2;
  return escaped + (text.match(/\//g)?.length ?? 0) + 5 * (text.match(/\x7f/g)?.length ?? 0);
}
