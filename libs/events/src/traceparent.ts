// W3C Trace Context, section 3.2: lower case; version ff and ids of zeros only are invalid; version 00 ends after its flags,
// a later one may continue.
const TRACEPARENT =
  /^(?:00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}|(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,64})?)$/;

/** Whether a text is a `traceparent` that may be passed on unchanged. */
export const isTraceparent = (text: string): boolean => TRACEPARENT.test(text);

/**
 * The trace an envelope belongs to: the sender's, unchanged, when its header is valid; else a new one from two random UUIDs,
 * not sampled, since the relay itself records no span for it.
 */
export function continueTrace(header: string | undefined, randomUuid: () => string): string {
  if (header !== undefined && isTraceparent(header)) return header;
  const [trace, parent] = [randomUuid(), randomUuid()];
  const traceId = trace.slice(0, 8) + trace.slice(9, 13) + trace.slice(14, 18) + trace.slice(19, 23) + trace.slice(24);
  return `00-${traceId}-${parent.slice(0, 8)}${parent.slice(9, 13)}${parent.slice(14, 18)}-00`;
}

/** The trace id of a `traceparent` (32 hexadecimal digits), as log lines name it; undefined where there is none. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent !== undefined && isTraceparent(traceparent) ? traceparent.slice(3, 35) : undefined;
