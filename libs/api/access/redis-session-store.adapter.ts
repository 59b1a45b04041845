import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { defineScript, globalKey, runScript } from '@relay/redis';
import { z } from 'zod';
import { endSessionLua, openSessionLua } from './session.script.js';

export const Session = z.object({
  clientId: z.string(),
  /** UUID in lower case. */
  userId: z.string(),
  /** Epoch milliseconds. */
  expiresAt: z.number(),
});
export type Session = z.infer<typeof Session>;

export interface SessionLimits {
  readonly ofPartner: number;
  /** Maximum number of sessions of one user at one partner. A further session ends the session with the earliest expiry. */
  readonly ofUser: number;
}

/** `full`: the partner has reached its limit. Room for a session is expected in `waitS` seconds. */
export type Opening =
  | { readonly kind: 'opened'; readonly sessionId: string }
  | { readonly kind: 'full'; readonly waitS: number };

const openScript = defineScript('session-open', openSessionLua);
const endScript = defineScript('session-end', endSessionLua);
/**
 * Number of slices into which a session's lifetime is divided. When a partner is at its limit, the place of an expired
 * session is free again at the end of its slice, which is at most a 32nd of the lifetime later.
 */
const SLICES = 32;

/**
 * Stores sessions until their expiry, in the layout of `session.script.ts`. The limits apply over all processes. A partner
 * never finds a session of another partner. Methods reject while Redis does not answer.
 */
export class SessionStore {
  constructor(
    private readonly redis: Redis,
    private readonly limits: SessionLimits,
    private readonly random: (bytes: number) => Buffer,
    private readonly now: () => number,
  ) {}

  /** Opens a session with this lifetime. Redis does not store the id of the session, only a hash. */
  async open(clientId: string, userId: string, ttlMs: number): Promise<Opening> {
    const sessionId = newSessionId(clientId, userId, this.random(16));
    const { user, session } = placeOf(sessionId);
    const now = this.now();
    const width = Math.ceil(ttlMs / SLICES);
    const slice = Math.ceil((now + ttlMs) / width) * width;
    const { ofUser, ofPartner } = this.limits;
    const args = [now, now + ttlMs, slice, session, userId, ofUser, ofPartner];
    const waitMs = Number(await runScript(this.redis, openScript, keysOf(clientId, user), args));
    return waitMs === 0 ? { kind: 'opened', sessionId } : { kind: 'full', waitS: Math.ceil(waitMs / 1_000) };
  }

  async find(clientId: string, sessionId: string): Promise<Session | undefined> {
    const { user, session } = placeOf(sessionId);
    const [userId, stored] = await this.redis.hmget(keysOf(clientId, user)[0], 'user', session);
    if (userId == null || stored == null) return undefined;
    const expiresAt = Number(stored.split(' ')[0]);
    return expiresAt <= this.now() ? undefined : Session.parse({ clientId, userId, expiresAt });
  }

  /** Ends a session. Returns whether it existed. */
  async end(clientId: string, sessionId: string): Promise<boolean> {
    const { user, session } = placeOf(sessionId);
    return (await runScript(this.redis, endScript, keysOf(clientId, user), [this.now(), session])) === 1;
  }
}

const keysOf = (clientId: string, user: string): readonly [string, string] => [
  globalKey('session', clientId, user),
  globalKey('sessions', clientId),
];

const HALF = 16;

/**
 * Returns a new session id. Its first 16 bytes are the same for all sessions of the user at this partner, and its last 16
 * bytes are random. The first half locates the user's sessions in the store and reveals nothing about the user.
 */
function newSessionId(clientId: string, userId: string, random: Buffer): string {
  if (random.length !== HALF) throw new RangeError('16 random bytes are expected');
  const user = createHash('sha256').update(`${clientId} ${userId}`).digest().subarray(0, HALF);
  return Buffer.concat([user, random]).toString('base64url');
}

/**
 * Returns the key of the user's sessions and the field of the session within them. They do not reveal the session id. The id
 * has 128 random bits, so a hash of 128 bits without a secret key is enough.
 */
const placeOf = (sessionId: string): { readonly user: string; readonly session: string } => ({
  user: Buffer.from(sessionId, 'base64url').subarray(0, HALF).toString('base64url'),
  session: createHash('sha256').update(sessionId).digest().subarray(0, HALF).toString('base64url'),
});
