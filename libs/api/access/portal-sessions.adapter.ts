import { timingSafeEqual } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import { defineScript, globalKey, runScript } from '@relay/redis';
import type { ThrottledLog } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { holderOf, VerifiedToken } from './access-tokens.js';
import type { RevokedTokens } from './revoked-tokens.adapter.js';

/**
 * Time in ms for which the handle before the current one still answers the current one: an answer was lost, or two copies of
 * a tab load at once. Its use does not prolong it.
 */
const GRACE_MS = 30_000;

/**
 * KEYS: the session, a hash with its token, the number of its current handle and the time in ms of the last renewal. ARGV:
 * the number of the presented handle, the grace in ms. Returns the token, and the number of the current handle, or 0 for an
 * old handle. A number above the current one was issued before Redis lost its last writes.
 */
const renew = defineScript(
  'portal-session-renew',
  `
local token, number, at = unpack(redis.call('HMGET', KEYS[1], 'token', 'number', 'at'))
if not token then return nil end
local given, current, time = tonumber(ARGV[1]), tonumber(number), redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if given >= current then
  redis.call('HSET', KEYS[1], 'number', given + 1, 'at', string.format('%.0f', now))
  return { token, given + 1 }
end
if given == current - 1 and now - tonumber(at) <= tonumber(ARGV[2]) then return { token, current } end
return { token, 0 }
`,
);
const Renewed = z.tuple([z.string(), z.int()]).nullable();

/** A handle that the relay has issued. */
export interface PortalHandle {
  readonly sessionId: string;
  readonly number: number;
}

/**
 * The sessions of people in the portal, which a page takes up again after a reload. A session is one token: each renewal
 * signs the same token again, so that it ends with it. A handle can renew a session once and is then replaced (RFC 9700
 * section 4.14.2). It consists of the session, a number and a keyed hash of both, so Redis holds neither handles nor their
 * hashes. Methods reject while Redis does not answer.
 */
export class PortalSessions {
  constructor(
    private readonly redis: Redis,
    private readonly keyring: Keyring,
    private readonly revoked: RevokedTokens,
    private readonly log: ThrottledLog,
  ) {}

  /** Stores a session until its token expires. Returns the first handle. */
  async open(token: VerifiedToken): Promise<string> {
    const key = keyOf(token.jti);
    const stored = { token: JSON.stringify(token), number: 1, at: 0 };
    await this.redis
      .multi()
      .hset(key, stored)
      .pexpireat(key, token.expiresAtS * 1_000)
      .exec();
    return this.#handle(token.jti, 1);
  }

  /** Returns a handle that the relay has issued, also an old one; undefined for any other text. Reads no store. */
  read(handle: string): PortalHandle | undefined {
    const [, text = '', sessionId = '', number = '', mac = ''] =
      /^(([\w-]+)\.(\d{1,9}))\.([\w.-]+)$/.exec(handle) ?? [];
    const given = Buffer.from(mac);
    const isOurs = this.keyring
      .hashes(text, CONTEXT)
      .map((hash) => Buffer.from(hash))
      .some((hash) => hash.length === given.length && timingSafeEqual(hash, given));
    return isOurs ? { sessionId, number: Number(number) } : undefined;
  }

  /**
   * Returns the token of a session and its next handle; undefined if the session has ended. An old handle ends the session
   * everywhere, because only one of the two who hold its handles is the person.
   */
  async renew({ sessionId, number }: PortalHandle): Promise<{ token: VerifiedToken; handle: string } | undefined> {
    const renewed = Renewed.parse(await runScript(this.redis, renew, [keyOf(sessionId)], [number, GRACE_MS]));
    if (renewed === null) return undefined;
    const token = VerifiedToken.parse(JSON.parse(renewed[0]));
    if (renewed[1] > 0) return { token, handle: this.#handle(sessionId, renewed[1]) };
    this.log.warn('portal.reused', 'An old handle of a portal session was presented: the session has ended', {
      partnerId: token.clientId,
    });
    await this.end(token);
    return undefined;
  }

  /** Ends a session, and its token in every process within seconds. */
  async end(token: VerifiedToken): Promise<void> {
    const { jti, issuedAtS, expiresAtS: endsAtS } = token;
    await this.revoked.revoke({ clientId: holderOf(token), jti, issuedAtS, endsAtS });
    await this.redis.del(keyOf(jti));
  }

  #handle(sessionId: string, number: number): string {
    const text = `${sessionId}.${number}`;
    return `${text}.${this.keyring.hash(text, CONTEXT)}`;
  }
}

const CONTEXT = ['portal', 'handle'];

const keyOf = (sessionId: string): string => globalKey('portal', 'session', sessionId);
