import { randomUUID } from 'node:crypto';
import type { FactoryProvider } from '@nestjs/common';
import { ClientDirectory } from '@relay/identity';
import { ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { AccessTokens, parseSigningKeys } from './access-tokens.js';
import { DirectoryRefresh } from './directory-refresh.js';
import { RedisRevocationStore } from './redis-revocation-store.adapter.js';
import { RevokedTokens } from './revoked-tokens.js';

/** The most that the clocks of processes and Redis may differ by. */
const CLOCKS_MS = 300_000;

export interface TokenConfig {
  readonly JWT_PRIVATE_KEYS: string;
  readonly PUBLIC_URL: string;
  readonly TOKEN_TTL: number;
}

/** Access tokens, revocations and their refresh, for a module that provides Redis, ClientDirectory and ThrottledLog. */
export const tokenProviders = (config: TokenConfig): FactoryProvider[] => [
  {
    provide: RevokedTokens,
    useFactory: (redis: Redis) =>
      new RevokedTokens(new RedisRevocationStore(redis, config.TOKEN_TTL + CLOCKS_MS, Date.now), Date.now),
    inject: [Redis],
  },
  {
    provide: AccessTokens,
    useFactory: (revoked: RevokedTokens) =>
      new AccessTokens(
        parseSigningKeys(config.JWT_PRIVATE_KEYS),
        { issuer: config.PUBLIC_URL, ttlMs: config.TOKEN_TTL },
        randomUUID,
        Date.now,
        revoked,
      ),
    inject: [RevokedTokens],
  },
  {
    provide: DirectoryRefresh,
    useFactory: (directory: ClientDirectory, revoked: RevokedTokens, log: ThrottledLog) =>
      new DirectoryRefresh([directory, revoked], log),
    inject: [ClientDirectory, RevokedTokens, ThrottledLog],
  },
];
