import { randomUUID } from 'node:crypto';
import { Injectable, type ClassProvider, type FactoryProvider } from '@nestjs/common';
import { ClientDirectory } from '@relay/identity';
import { ThrottledLog, reasonOf } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { AccessTokens, parseSigningKeys } from './access-tokens.js';
import { RedisRevocationStore, RevokedTokens } from './revoked-tokens.adapter.js';

const EVERY_MS = 2_000;

/**
 * Refreshes the clients and revoked tokens in memory, so that they are at most two seconds behind Redis. Nest calls the
 * lifecycle hooks.
 */
@Injectable()
class DirectoryRefresh {
  #timer: NodeJS.Timeout | undefined;
  #running = false;

  constructor(
    private readonly directory: ClientDirectory,
    private readonly revoked: RevokedTokens,
    private readonly log: ThrottledLog,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.#timer = setInterval(() => void this.#refresh(), EVERY_MS).unref();
    await this.#refresh();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  // Only one refresh runs at a time, because a slow Redis may answer later than the next tick.
  async #refresh(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      await Promise.all([this.directory.refresh(), this.revoked.refresh()]);
    } catch (error) {
      this.log.warn('clients.remembered', 'Redis does not answer: only clients seen before are let in until it does', {
        reason: reasonOf(error),
      });
    } finally {
      this.#running = false;
    }
  }
}

/** Maximum difference in ms between the clock of a process and the clock of Redis. */
const CLOCKS_MS = 300_000;

export interface TokenConfig {
  readonly JWT_PRIVATE_KEYS: string;
  readonly PUBLIC_URL: string;
  readonly TOKEN_TTL: number;
}

/**
 * Returns the providers of access tokens, revocations and their refresh. The module must provide Redis, ClientDirectory and
 * ThrottledLog.
 */
export const tokenProviders = (config: TokenConfig): (ClassProvider | FactoryProvider)[] => [
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
  { provide: DirectoryRefresh, useClass: DirectoryRefresh },
];
