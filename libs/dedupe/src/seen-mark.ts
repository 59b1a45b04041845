/**
 * State of an envelope id, which only advances:
 * - `published`: an ingress has Kafka's acknowledgement. Best effort; decides only about `duplicate` and 409 at the ingress.
 * - `reserved`: a worker has started the envelope. A record with the same content that finds it is delivered all the
 *   same, so a mark whose worker died blocks nothing and needs no lease.
 * - `settled`: every delivery was answered 2xx or has its own job, dead letter or range. A duplicate is dropped.
 */
export type SeenState = 'published' | 'reserved' | 'settled';

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

const STATE_OF_BYTE: Readonly<Record<number, SeenState>> = { 112: 'published', 114: 'reserved', 115: 'settled' };

/** The 16 raw bytes of a UUID. */
export const idBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

/** The 8 raw bytes of a content hash. */
export const hashBytes = (hash: string): Buffer => Buffer.from(hash, 'hex');

/** Reads a mark as stored: one byte of state (`p`, `r`, `s`), then the 8 bytes of the content hash. */
export function readMark(raw: Buffer | null): SeenMark | undefined {
  const state = raw === null || raw.length !== 9 ? undefined : STATE_OF_BYTE[raw[0] as number];
  return raw === null || state === undefined ? undefined : { state, hash: raw.subarray(1).toString('hex') };
}

/** A window in the unit of the scripts. */
export const wholeSeconds = (windowMs: number): number => Math.ceil(windowMs / 1_000);
