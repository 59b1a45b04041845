import type { Redis } from 'ioredis';
import { defineScript, globalKey, runScript } from '@relay/redis';
import { z } from 'zod';
import { RevocationStore, type RevocationPage } from './revocation-store.port.js';
import type { Revocation } from './revocations.js';

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

/** `tokens:revoked`: a stream, of which a reader reads only new entries. Each entry trims those older than any token; the stream expires with its last one. */
export class RedisRevocationStore extends RevocationStore {
  constructor(
    private readonly redis: Redis,
    /** Longest life of a token. */
    private readonly keptMs: number,
    private readonly now: () => number,
  ) {
    super();
  }

  async add(revocation: Revocation, replaced: readonly string[]): Promise<string> {
    const oldest = Math.max(0, this.now() - this.keptMs);
    const args = [this.keptMs, oldest, textOf(revocation), ...replaced];
    return String(await runScript(this.redis, add, [REVOKED], args));
  }

  async read(after: string = START): Promise<RevocationPage> {
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
