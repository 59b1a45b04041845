import type { Redis } from 'ioredis';
import { defineScript, globalKey, runScript } from '@relay/redis';
import { newSessionId, placeOf } from './session-id.js';
import { Session, SessionStore, type Opening, type SessionLimits } from './session-store.port.js';
import { endSessionLua, openSessionLua } from './session.script.js';

const openScript = defineScript('session-open', openSessionLua);
const endScript = defineScript('session-end', endSessionLua);
/** A partner at its limit has room again within this part of a session's lifetime after its first session ended. */
const SLICES = 32;

/** Sessions in the layout of `session.script.ts`. */
export class RedisSessionStore extends SessionStore {
  constructor(
    private readonly redis: Redis,
    private readonly limits: SessionLimits,
    private readonly random: (bytes: number) => Buffer,
    private readonly now: () => number,
  ) {
    super();
  }

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

  async end(clientId: string, sessionId: string): Promise<boolean> {
    const { user, session } = placeOf(sessionId);
    return (await runScript(this.redis, endScript, keysOf(clientId, user), [this.now(), session])) === 1;
  }
}

const keysOf = (clientId: string, user: string): readonly [string, string] => [
  globalKey('session', clientId, user),
  globalKey('sessions', clientId),
];
