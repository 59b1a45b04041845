import { randomFillSync } from 'node:crypto';

// W3C Trace Context, section 3.2: all in lower case. Version ff and ids that consist of zeros are invalid. Version 00 ends
// after the flags, and later versions may continue.
const TRACEPARENT =
  /^(?:00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}|(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,64})?)$/;

/** Whether a text is a valid `traceparent`, which may be passed on unchanged. */
export const isTraceparent = (text: string): boolean => TRACEPARENT.test(text);

/**
 * Returns the `traceparent` of an envelope: that of the sender, unchanged, if it is valid; otherwise a new random one. The
 * new one is not sampled, because the relay records no span for it.
 */
export function continueTrace(header: string | undefined): string {
  if (header !== undefined && isTraceparent(header)) return header;
  const ids = randomIds();
  return `00-${ids.slice(0, 32)}-${ids.slice(32)}-00`;
}

const IDS_BYTES = 16 + 8;
/** Random bytes for many traces. A call of `randomFillSync` is slow, so one call fills the whole pool. */
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

/** Returns the trace id of a `traceparent` (32 hexadecimal digits), as log lines contain it; undefined if it has none. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent !== undefined && isTraceparent(traceparent) ? traceparent.slice(3, 35) : undefined;
