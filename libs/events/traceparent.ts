import { randomFillSync } from 'node:crypto';

// W3C Trace Context, section 3.2: lower case; version ff and ids of zeros only are invalid; version 00 ends after its flags,
// a later one may continue.
const TRACEPARENT =
  /^(?:00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}|(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,64})?)$/;

/** Whether a text is a `traceparent` that may be passed on unchanged. */
export const isTraceparent = (text: string): boolean => TRACEPARENT.test(text);

/**
 * The trace an envelope belongs to: the sender's, unchanged, when its header is valid; else a new one, random and not sampled, since
 * the relay itself records no span for it.
 */
export function continueTrace(header: string | undefined): string {
  if (header !== undefined && isTraceparent(header)) return header;
  const ids = randomIds();
  return `00-${ids.slice(0, 32)}-${ids.slice(32)}-00`;
}

const IDS_BYTES = 16 + 8;
/** One call for many: each costs more than the ids that it gives. */
const pool = Buffer.alloc(128 * IDS_BYTES);
let used = pool.length;

function randomIds(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += IDS_BYTES;
  return pool.toString('hex', used - IDS_BYTES, used);
}

/** The trace id of a `traceparent` (32 hexadecimal digits), as log lines name it; undefined where there is none. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent !== undefined && isTraceparent(traceparent) ? traceparent.slice(3, 35) : undefined;
