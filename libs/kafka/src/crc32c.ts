/** The polynomial of Castagnoli with its bits reversed, as Kafka and iSCSI (RFC 3720) have it. */
const POLYNOMIAL = 0x82f63b78;

/** For each of eight places of a byte before the end, 256 remainders. */
const TABLE = new Int32Array(8 * 256);
for (let byte = 0; byte < 256; byte += 1) {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = (rest & 1) === 1 ? (rest >>> 1) ^ POLYNOMIAL : rest >>> 1;
  TABLE[byte] = rest;
}
for (let at = 256; at < TABLE.length; at += 1) {
  const before = of(at - 256);
  TABLE[at] = of(before & 0xff) ^ (before >>> 8);
}

function of(at: number): number {
  return TABLE[at] as number;
}

/** The CRC-32C of the bytes from start to end, eight bytes a step. */
export function crc32c(bytes: Uint8Array, start: number, end: number): number {
  const byte = (at: number): number => bytes[at] as number;
  let rest = -1;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    rest ^= byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16) | (byte(at + 3) << 24);
    rest =
      of(0x700 + (rest & 0xff)) ^
      of(0x600 + ((rest >>> 8) & 0xff)) ^
      of(0x500 + ((rest >>> 16) & 0xff)) ^
      of(0x400 + (rest >>> 24)) ^
      of(0x300 + byte(at + 4)) ^
      of(0x200 + byte(at + 5)) ^
      of(0x100 + byte(at + 6)) ^
      of(byte(at + 7));
  }
  for (; at < end; at += 1) rest = of((rest ^ byte(at)) & 0xff) ^ (rest >>> 8);
  return ~rest >>> 0;
}
