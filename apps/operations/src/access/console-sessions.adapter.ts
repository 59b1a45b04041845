import { createHash } from 'node:crypto';
import { OneTimeCodes } from '@relay/access';
import { BoundedMemory } from '@relay/identity';
import { defineScript, isRedisAway, globalKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { openConsoleLua, useConsoleLua } from './console-session.script.js';

const openScript = defineScript('console-open', openConsoleLua);
const useScript = defineScript('console-use', useConsoleLua);

/**
 * A session ends 30 minutes after the last action of its operator, and at the latest 12 hours after it began. Both are in
 * ms.
 */
export const IDLE_MS = 30 * 60_000;
const LIFE_MS = 12 * 60 * 60_000;
/**
 * Maximum number of sessions of an operator. It is limited because a session takes 100 bytes of Redis for up to 12 hours.
 */
const OF_OPERATOR = 10;

/** Time in ms for which a link to the console can be opened. */
export const LINK_MS = 10 * 60_000;

/** The operator of a session, and the generation of the client secret that opened the session. */
const ConsoleSession = z.object({ clientId: z.string(), generation: z.int() });
type ConsoleSession = Readonly<z.infer<typeof ConsoleSession>>;

/**
 * The sessions of operators in the console, in the layout of `console-session.script.ts`. Redis stores only the hash of a
 * session's id. If Redis does not answer, a session that this process has seen stays valid until the last idle end that this
 * process knows.
 */
export class ConsoleSessions {
  readonly #seen = new BoundedMemory<ConsoleSession & { readonly idleAt: number }>(1_000);
  /** The codes of links. Each opens one session of the operator who made the link. */
  readonly links: OneTimeCodes<ConsoleSession>;

  constructor(
    private readonly redis: Redis,
    private readonly random: (bytes: number) => Buffer,
    private readonly now: () => number,
  ) {
    this.links = new OneTimeCodes(redis, random, {
      key: ['console', 'link'],
      schema: ConsoleSession,
      ttlMs: LINK_MS,
    });
  }

  /** Opens a session and returns its id. Rejects if Redis does not answer. */
  async open({ clientId, generation }: ConsoleSession): Promise<SessionId> {
    const id = { clientId, secret: this.random(32).toString('base64url') };
    const now = this.now();
    const args = [now, hashOf(id), generation, now + LIFE_MS, now + IDLE_MS, OF_OPERATOR];
    await runScript(this.redis, openScript, [keyOf(clientId)], args);
    this.#seen.set(hashOf(id), { clientId, generation, idleAt: now + IDLE_MS });
    return id;
  }

  /**
   * Returns the session with an id; undefined if the session has ended.
   * @param isActing whether the operator acts. A page that only refreshes itself must not keep a session alive
   */
  async find(id: SessionId, isActing: boolean): Promise<ConsoleSession | undefined> {
    const [session, now] = [hashOf(id), this.now()];
    try {
      const args = [now, session, isActing ? now + IDLE_MS : 0];
      const [generation, idleAt] = (await runScript(this.redis, useScript, [keyOf(id.clientId)], args)) as string[];
      if (generation === undefined) {
        this.#seen.delete(session);
        return undefined;
      }
      const found = { clientId: id.clientId, generation: Number(generation) };
      this.#seen.set(session, { ...found, idleAt: Number(idleAt) });
      return found;
    } catch (error) {
      const seen = this.#seen.get(session);
      if (!isRedisAway(error) || seen === undefined) throw error;
      return seen.idleAt > now ? seen : undefined;
    }
  }

  /** Ends a session that has not ended yet. Rejects if Redis does not answer. */
  async end(id: SessionId): Promise<void> {
    this.#seen.delete(hashOf(id));
    await this.redis.hdel(keyOf(id.clientId), hashOf(id));
  }
}

const keyOf = (clientId: string): string => globalKey('console', clientId);
/** Returns the hash of an id. The hash needs no secret key, because an id has 256 random bits. */
const hashOf = (id: SessionId): string => createHash('sha256').update(formatSession(id)).digest('base64url');

/** The id of a session of the console. A cookie contains it. */
export interface SessionId {
  /** The client id of the operator. */
  readonly clientId: string;
  /** 32 random bytes as base64url. */
  readonly secret: string;
}

const NAME = 'relay_console';
/**
 * The name of the cookie over HTTPS. Browsers do not let other hosts, or pages without TLS, set a cookie with this prefix
 * (RFC 6265bis section 4.1.3.2).
 */
const SECURE_NAME = `__Host-${NAME}`;
const ID = /^(operator_[\w-]{1,64})\.([\w-]{43})$/;
const RULES = 'Path=/; HttpOnly; SameSite=Strict';

const formatSession = ({ clientId, secret }: SessionId): string => `${clientId}.${secret}`;

/**
 * Returns the session that a `Cookie` header contains (RFC 6265 section 5.4); undefined if no cookie has the form of a
 * session. The cookie whose name other hosts cannot use is preferred.
 */
export function readSession(header: string | undefined): SessionId | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim().split('=', 2));
  for (const wanted of [SECURE_NAME, NAME])
    for (const [name, value = ''] of pairs) {
      const [, clientId, secret] = (name === wanted ? ID.exec(value) : null) ?? [];
      if (clientId !== undefined && secret !== undefined) return { clientId, secret };
    }
  return undefined;
}

/**
 * Returns the `Set-Cookie` header of a session. Scripts cannot read the cookie, other sites cannot send it, and it ends with
 * the browser.
 */
export const sessionCookie = (id: SessionId, isSecure: boolean): string =>
  isSecure ? `${SECURE_NAME}=${formatSession(id)}; ${RULES}; Secure` : `${NAME}=${formatSession(id)}; ${RULES}`;

/** `Set-Cookie` headers that delete the cookies of all sessions in the browser. */
export const noSession: readonly string[] = [
  `${SECURE_NAME}=; Max-Age=0; ${RULES}; Secure`,
  `${NAME}=; Max-Age=0; ${RULES}`,
];
