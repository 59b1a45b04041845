import type { Redis } from 'ioredis';
import { redisKey } from '@relay/redis';
import { RevocationStore, type Revocation, type RevocationPage } from './revocation-store.port.js';

const REVOKED = redisKey('tokens', 'revoked');
const START = '0-0';
const PAGE = 1_000;

/** `tokens:revoked`: a stream, so that a reader asks for what is new only; what is older than any token is trimmed at each entry. */
export class RedisRevocationStore extends RevocationStore {
  constructor(
    private readonly redis: Redis,
    /** Longest life of a token. */
    private readonly keptMs: number,
    private readonly now: () => number,
  ) {
    super();
  }

  async add({ jti, endsAtS }: Revocation): Promise<void> {
    const oldest = Math.max(0, this.now() - this.keptMs);
    await this.redis.xadd(REVOKED, 'MINID', '~', oldest, '*', 'jti', jti, 'ends', endsAtS);
  }

  async read(after: string = START): Promise<RevocationPage> {
    const entries = await this.redis.xrange(REVOKED, `(${after}`, '+', 'COUNT', PAGE);
    return {
      revocations: entries.map(([, [, jti = '', , ends]]) => ({ jti, endsAtS: Number(ends) })),
      next: entries.at(-1)?.[0] ?? after,
    };
  }
}
