/**
 * State of an envelope id, which only advances:
 * - `published`: an ingress has Kafka's acknowledgement. Best effort; decides only about `duplicate` and 409 at the ingress.
 * - `settled`: every delivery was answered 2xx or has its own job, dead letter or range. A duplicate is dropped.
 */
export type SeenState = 'published' | 'settled';

export interface SeenMark {
  state: SeenState;
  /** Content hash, 16 hex characters. */
  hash: string;
}

/** An envelope's id (UUID) and the hash of its content. */
export interface SeenEntry {
  id: string;
  hash: string;
}

const STATE_OF_BYTE: Readonly<Record<number, SeenState>> = { 112: 'published', 115: 'settled' };

const ID_BYTES = 16;
const HASH_BYTES = 8;

/** The raw bytes of the ids, 16 each, as the scripts take them. */
export function packedIds(ids: readonly string[]): Buffer {
  const bytes = Buffer.alloc(ids.length * ID_BYTES);
  for (const [index, id] of ids.entries()) writeId(bytes, id, index * ID_BYTES);
  return bytes;
}

/** The raw bytes of the entries, 24 each: an id and its hash. */
export function packed(entries: readonly SeenEntry[]): Buffer {
  const bytes = Buffer.alloc(entries.length * (ID_BYTES + HASH_BYTES));
  let at = 0;
  for (const { id, hash } of entries) {
    writeId(bytes, id, at);
    bytes.write(hash, at + ID_BYTES, HASH_BYTES, 'hex');
    at += ID_BYTES + HASH_BYTES;
  }
  return bytes;
}

const writeId = (bytes: Buffer, id: string, at: number): number =>
  bytes.write(id.replaceAll('-', ''), at, ID_BYTES, 'hex');

/** Reads a mark as stored: one byte of state (`p`, `s`), then the 8 bytes of the content hash. */
export function readMark(raw: Buffer): SeenMark | undefined {
  const state = raw.length === 9 ? STATE_OF_BYTE[raw[0] as number] : undefined;
  return state === undefined ? undefined : { state, hash: raw.subarray(1).toString('hex') };
}

/** Converts a window to seconds, the unit of the scripts. */
export const wholeSeconds = (windowMs: number): number => Math.ceil(windowMs / 1_000);
