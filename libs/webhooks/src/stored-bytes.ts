/**
 * How many bytes of UTF-8 a text takes where it is stored: within JSON as Redis' own encoder writes it, which escapes control
 * characters to six bytes each, and slashes and DEL as well.
 */
export function storedBytes(text: string): number {
  const escaped = Buffer.byteLength(JSON.stringify(text)) - 2;
  return escaped + (text.match(/\//g)?.length ?? 0) + 5 * (text.match(/\x7f/g)?.length ?? 0);
}
