// W3C Trace Context, section 3.2: lower case; version ff and ids of zeros only are invalid; version 00 ends after its flags,
// a later one may go on.
const VALID =
  /^(?:00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}|(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,64})?)$/;

/**
 * The trace an envelope belongs to: the sender's, unchanged, when its header is valid; else a new one from two random UUIDs,
 * not sampled, since the relay itself records no span for it.
 */
export function continueTrace(header: string | undefined, randomUuid: () => string): string {
  if (header !== undefined && VALID.test(header)) return header;
  const traceId = randomUuid().replaceAll('-', '');
  const parentId = randomUuid().replaceAll('-', '').slice(0, 16);
  return `00-${traceId}-${parentId}-00`;
}
