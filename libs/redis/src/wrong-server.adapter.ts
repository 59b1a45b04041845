import type { Redis } from 'ioredis';
import { NotPrimaryError } from './primary-connector.adapter.js';

/** Codes of the Redis protocol for: this is a replica, becomes one, or does not serve the slot any more. */
const WRONG_SERVER = /^(?:READONLY|UNBLOCKED|MASTERDOWN|LOADING|MOVED|CLUSTERDOWN)\b/;
/** A primary that lost its replicas may be cut off, and another one be the primary; or it waits for its replicas. */
const MAYBE_WRONG = /^NOREPLICAS\b/;
const LOOK_MS = 5_000;
const ASK_MS = 1_000;

/**
 * A rule for `reconnectOnError`, the same for each way of reaching Redis: the connection asks for the way again when the server
 * refuses what only a primary does.
 * @param again what ioredis does with the refused command: 2 sends it again on the next connection
 */
export function wrongServer(again: true | 2): (error: Error) => boolean | 2 {
  let lookedAt = -Infinity;
  return ({ message }) => {
    if (WRONG_SERVER.test(message)) return again;
    if (!MAYBE_WRONG.test(message) || performance.now() - lookedAt < LOOK_MS) return false;
    lookedAt = performance.now();
    return again;
  };
}

/** Ends the connection when its server became a replica. Who only reads is not refused anything, and an error within EXEC is an answer. */
export function watchRole(redis: Redis): void {
  let isAsking = false;
  const ask = async (): Promise<void> => {
    if (isAsking || redis.status !== 'ready') return;
    isAsking = true;
    try {
      const { stream } = redis;
      if (/^role:slave/m.test(await redis.info('replication')))
        stream.destroy(new NotPrimaryError('Redis became a replica, and takes no writes'));
    } catch {
      // The connection tells by itself that it is away.
    } finally {
      isAsking = false;
    }
  };
  const timer = setInterval(() => void ask(), ASK_MS).unref();
  redis.on('end', () => clearInterval(timer));
}
