import type { Redis } from 'ioredis';
import { defineScript, globalKey, runScript } from '@relay/redis';
import { z } from 'zod';
import { Revocations, type LoggedRevocation, type Revocation, type SingleRevocation } from './revocations.js';

const REVOKED = globalKey('tokens', 'revoked');
const START = '0-0';
const PAGE = 1_000;
const FIELD = 'r';

/** ARGV: lifetime of an entry in milliseconds, the oldest id to keep, the entry, and the places to delete. */
const add = defineScript(
  'revocation-add',
  `
if #ARGV > 3 then redis.call('XDEL', KEYS[1], unpack(ARGV, 4)) end
local place = redis.call('XADD', KEYS[1], 'MINID', '~', ARGV[2], '*', '${FIELD}', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return place
`,
);

const Seconds = z.string().regex(/^\d+$/).transform(Number);
/** `client ends issued jti` of one token, `client ends before` of all tokens. */
const Entry = z.union([
  z.tuple([z.string(), Seconds, Seconds, z.string()]).transform(([clientId, endsAtS, issuedAtS, jti]) => ({
    kind: 'single' as const,
    clientId,
    endsAtS,
    issuedAtS,
    jti,
  })),
  z
    .tuple([z.string(), Seconds, Seconds])
    .transform(([clientId, endsAtS, beforeS]) => ({ kind: 'joint' as const, clientId, endsAtS, beforeS })),
]);

/**
 * The log of revocations that every process reads, `tokens:revoked`: a stream, of which a reader reads only new entries. Each entry trims
 * those older than any token; the stream expires with its last one. Rejects while Redis is away.
 */
export class RedisRevocationStore {
  constructor(
    private readonly redis: Redis,
    /** Longest life of a token. */
    private readonly keptMs: number,
    private readonly now: () => number,
  ) {}

  /**
   * Adds a revocation and deletes those that it replaces, both or none.
   * @param replaced their places @returns its own place
   */
  async add(revocation: Revocation, replaced: readonly string[]): Promise<string> {
    const oldest = Math.max(0, this.now() - this.keptMs);
    const args = [this.keptMs, oldest, textOf(revocation), ...replaced];
    return String(await runScript(this.redis, add, [REVOKED], args));
  }

  /** @param after `next` of the page before */
  async read(after: string = START): Promise<{ readonly revocations: readonly LoggedRevocation[]; readonly next: string }> {
    const entries = await this.redis.xrange(REVOKED, `(${after}`, '+', 'COUNT', PAGE);
    return {
      revocations: entries.map(([place, [, text = '']]) => ({ revocation: Entry.parse(text.split(' ')), place })),
      next: entries.at(-1)?.[0] ?? after,
    };
  }
}

const textOf = (revocation: Revocation): string => {
  const { clientId, endsAtS } = revocation;
  return revocation.kind === 'single'
    ? `${clientId} ${endsAtS} ${revocation.issuedAtS} ${revocation.jti}`
    : `${clientId} ${endsAtS} ${revocation.beforeS}`;
};

/** Tokens that a client can revoke one by one within the lifetime of a token. It bounds the memory for one client. */
const SINGLES_OF_CLIENT = 1_000;

/**
 * Revoked access tokens in the memory of this process, so that checking a token costs no round trip. A revocation takes effect in
 * this process at once and in every other at its next `refresh`; while the store is away, the known ones keep their effect.
 */
export class RevokedTokens {
  /** The latest revocation under way of a client: one at a time, since each depends on those before. */
  readonly #underWay = new Map<string, Promise<void>>();
  #place: string | undefined;

  constructor(
    private readonly store: RedisRevocationStore,
    private readonly now: () => number,
    private readonly known = new Revocations(SINGLES_OF_CLIENT),
  ) {}

  has(token: { readonly clientId: string; readonly jti: string; readonly issuedAtS: number }): boolean {
    return this.known.has(token);
  }

  /** Every token of the client issued before this time has ended, epoch seconds. */
  notBeforeS(clientId: string): number {
    return this.known.notBeforeS(clientId);
  }

  /** Rejects while the store is away: the token may then still be valid. */
  async revoke(token: Omit<SingleRevocation, 'kind'>): Promise<void> {
    const { clientId } = token;
    const before = this.#underWay.get(clientId) ?? Promise.resolve();
    const own = before.catch(() => undefined).then(() => this.#revoke({ kind: 'single', ...token }));
    this.#underWay.set(clientId, own);
    try {
      await own;
    } finally {
      if (this.#underWay.get(clientId) === own) this.#underWay.delete(clientId);
    }
  }

  async #revoke(token: SingleRevocation): Promise<void> {
    if (this.known.has(token)) return;
    const { revocation, replaced } = this.known.plan(token);
    const place = await this.store.add(revocation, replaced);
    this.known.add({ revocation, place });
  }

  /** The process calls it every few seconds. Drops expired tokens. Rejects while the store is away. */
  async refresh(): Promise<void> {
    for (;;) {
      const before = this.#place;
      const { revocations, next } = await this.store.read(this.#place);
      for (const entry of revocations) this.known.add(entry);
      this.#place = next;
      if (next === before) break;
    }
    this.known.forget(this.now() / 1_000);
  }
}
