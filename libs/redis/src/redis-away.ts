// Error codes of the Redis protocol that mean "not now": starting, failing over, moving, full, or unable to write.
const NOT_NOW =
  /^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|UNBLOCKED|OOM|MISCONF|BUSY)\b/;
// ioredis has neither classes nor codes for these; the texts are those of its 5.x sources.
const CONNECTION_TEXTS =
  /^(?:Command timed out$|Connection is closed\.$|Stream isn't writeable|Socket timeout\.|Command aborted due to connection close$|connect ETIMEDOUT$|All sentinels are unreachable)/;
const ABORTED = new Set(['AbortError', 'InterruptError', 'MaxRetriesPerRequestError']);
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/**
 * Whether an error of a command means that Redis is away or cannot serve at the moment, so that a repeat may succeed. The error
 * itself tells: an app has several connections, and the state of one says nothing about a command of another.
 */
export function isRedisAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (thrown.name === 'ReplyError') return NOT_NOW.test(thrown.message);
  // A DOMException of the same name comes from an AbortSignal, not from ioredis.
  if (ABORTED.has(thrown.name)) return !(thrown instanceof DOMException);
  if ('code' in thrown && NETWORK_CODES.has(String(thrown.code))) return true;
  return CONNECTION_TEXTS.test(thrown.message);
}
