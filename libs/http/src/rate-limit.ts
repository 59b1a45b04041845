import type { FastifyReply } from './fastify-request.js';

/** A quota of draft-ietf-httpapi-ratelimit-headers: a number of requests in a number of milliseconds. */
export interface Quota {
  readonly name: string;
  readonly points: number;
  readonly windowMs: number;
}

/** `RateLimit-Policy` and `RateLimit`: the quota, what is left of it, and the seconds until its renewal. */
export const rateLimitHeaders = (
  { name, points, windowMs }: Quota,
  remaining: number,
  resetS: number,
): Readonly<Record<string, string>> => ({
  'ratelimit-policy': `"${name}";q=${points};w=${Math.ceil(windowMs / 1_000)}`,
  ratelimit: `"${name}";r=${remaining};t=${resetS}`,
});

interface Told {
  readonly quota: Quota;
  readonly remaining: number;
  readonly resetS: number;
}

const told = new WeakMap<FastifyReply, ReadonlyMap<string, Told>>();

/** Tells a quota in an answer, beside those that were told before. Both fields are lists (RFC 9651): the quota that binds first stands first. */
export function tellQuota(reply: FastifyReply, quota: Quota, remaining: number, resetS: number): void {
  const all = new Map(told.get(reply)).set(quota.name, { quota, remaining, resetS });
  told.set(reply, all);
  const share = (each: Told): number => each.remaining / each.quota.points;
  const fields = [...all.values()]
    .toSorted((a, b) => share(a) - share(b))
    .map((each) => Object.entries(rateLimitHeaders(each.quota, each.remaining, each.resetS)));
  for (const [index, [name]] of (fields[0] ?? []).entries())
    void reply.header(name, fields.map((entries) => entries[index]?.[1]).join(', '));
}

/** Headers of a 429: `Retry-After` is never earlier than the quota's renewal. */
export const spentHeaders = (quota: Quota, waitS: number): Readonly<Record<string, string>> => ({
  'retry-after': String(waitS),
  ...rateLimitHeaders(quota, 0, waitS),
});
