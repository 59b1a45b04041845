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

/** Headers of a 429: `Retry-After` is never earlier than the quota's renewal. */
export const spentHeaders = (quota: Quota, waitS: number): Readonly<Record<string, string>> => ({
  'retry-after': String(waitS),
  ...rateLimitHeaders(quota, 0, waitS),
});
