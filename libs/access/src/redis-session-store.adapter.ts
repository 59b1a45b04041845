import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { redisKey } from '@relay/redis';
import { Session, SessionStore } from './session-store.port.js';

/** `session:<SHA-256 of the id>` → JSON, expiring by itself. The id has 256 random bits: its hash needs no key. */
export class RedisSessionStore extends SessionStore {
  constructor(private readonly redis: Redis) {
    super();
  }

  async keep(sessionId: string, session: Session, ttlMs: number): Promise<void> {
    await this.redis.set(keyOf(sessionId), JSON.stringify(session), 'PX', ttlMs);
  }

  async find(sessionId: string): Promise<Session | undefined> {
    const stored = await this.redis.get(keyOf(sessionId));
    return stored === null ? undefined : Session.parse(JSON.parse(stored));
  }

  async end(sessionId: string): Promise<boolean> {
    return (await this.redis.del(keyOf(sessionId))) === 1;
  }
}

const keyOf = (sessionId: string): string =>
  redisKey('session', createHash('sha256').update(sessionId).digest('base64url'));
