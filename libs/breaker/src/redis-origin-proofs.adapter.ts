import { createHash } from 'node:crypto';
import { globalKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { PROOF_MS } from './origin-proof.js';
import { OriginProofs, type Turn, type TurnRequest } from './origin-proofs.port.js';
import { giveTurnBack, proveOrigin, takeTurn } from './origin-proofs.script.js';
import { TURN_MS } from './turn-line.js';

/** Sorted set, hash of an origin → when it last answered 2xx: about 90 bytes each. */
const PROVEN = globalKey('proven');
/** At most 10 MB. An evicted origin begins again with one attempt at a time. */
const MOST_ORIGINS = 100_000;
/** A reserved turn lapses after this time, when the worker of its delivery is busy or died. */
const KEPT_MS = 2_000;

/** One key for all proven origins, and two for each other origin, which expire seconds after its last turn. */
export class RedisOriginProofs extends OriginProofs {
  constructor(
    private readonly redis: Redis,
    private readonly mostOrigins: number = MOST_ORIGINS,
  ) {
    super();
  }

  async turn({ origin, endpoint, token, leaseMs }: TurnRequest): Promise<Turn> {
    const args = [hashOf(origin), PROOF_MS, hashOf(endpoint), token, leaseMs, TURN_MS, KEPT_MS];
    const [kind, value, rivals] = (await runScript(this.redis, takeTurn, keysOf(origin), args)) as [
      string,
      ...unknown[],
    ];
    if (kind === 'proven') return { kind, at: Number(value) };
    return kind === 'granted' ? { kind } : { kind: 'refused', waitMs: Number(value), rivals: Number(rivals) };
  }

  async giveBack(origin: string, token: string, isUsed: boolean): Promise<void> {
    await runScript(this.redis, giveTurnBack, keysOf(origin).slice(1, 2), [token, isUsed ? 1 : 0, TURN_MS]);
  }

  async prove(origin: string): Promise<void> {
    await runScript(this.redis, proveOrigin, keysOf(origin), [hashOf(origin), this.mostOrigins]);
  }

  async proven(origins: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (origins.length === 0) return new Map();
    const times = await this.redis.zmscore(PROVEN, ...origins.map(hashOf));
    const since = Date.now() - PROOF_MS;
    return new Map(
      origins.map((origin, index) => [origin, Number(times[index] ?? 0)] as const).filter(([, at]) => at > since),
    );
  }
}

const keysOf = (origin: string): string[] => {
  const name = hashOf(origin);
  return [PROVEN, globalKey('unproven', name, 'turn'), globalKey('unproven', name, 'promised')];
};

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);
