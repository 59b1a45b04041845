const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/**
 * The partition a key belongs to, as Kafka's Java client chooses it (BuiltInPartitioner: murmur2 of the key's UTF-8 bytes,
 * its sign bit cleared, modulo the partitions), so records written by other clients with the same key land beside ours.
 */
export function partitionOf(key: string | Buffer, partitions: number): number {
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % partitions;
}

/** The 32-bit murmur2 of org.apache.kafka.common.utils.Utils, signed as there. */
export function murmur2(bytes: Buffer): number {
  const { length } = bytes;
  const whole = length & ~3;
  let h = SEED ^ length;
  for (let at = 0; at < whole; at += 4) {
    let k = Math.imul(bytes.readInt32LE(at), M);
    k = Math.imul(k ^ (k >>> 24), M);
    h = Math.imul(h, M) ^ k;
  }
  if (length > whole) h = Math.imul(h ^ bytes.readUIntLE(whole, length - whole), M);
  h = Math.imul(h ^ (h >>> 13), M);
  return h ^ (h >>> 15);
}
