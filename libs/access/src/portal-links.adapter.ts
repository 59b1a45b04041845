import { createHash } from 'node:crypto';
import { globalKey } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { PortalGrant } from './portal-grant.js';

/** What a link opens. */
export const PortalLink = z.object({
  partnerId: z.string(),
  /** Of the secret by which the partner made it: a link ends with what it was made with. An operator's has none. */
  generation: z.int().optional(),
  grant: PortalGrant,
  /** Lifetime of the token that its code is traded for, in seconds. */
  ttlS: z.int(),
});
export type PortalLink = z.infer<typeof PortalLink>;

/** The codes of links, each good for one trade. Redis has their hashes only. */
export class PortalLinks {
  constructor(
    private readonly redis: Pick<Redis, 'set' | 'getdel'>,
    private readonly random: (bytes: number) => Buffer,
    /** How long a code can be traded. */
    private readonly ttlMs: number,
  ) {}

  /** Makes a code of 256 random bits. */
  async create(link: PortalLink): Promise<string> {
    const code = this.random(32).toString('base64url');
    await this.redis.set(keyOf(code), JSON.stringify(link), 'PX', this.ttlMs);
    return code;
  }

  /** The link of a code, once; undefined when the code is unknown, was traded before or has expired. */
  async take(code: string): Promise<PortalLink | undefined> {
    const stored = await this.redis.getdel(keyOf(code));
    return stored === null ? undefined : PortalLink.parse(JSON.parse(stored));
  }
}

const keyOf = (code: string): string => globalKey('portal', createHash('sha256').update(code).digest('base64url'));
