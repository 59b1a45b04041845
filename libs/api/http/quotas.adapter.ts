import { RateLimiterMemory, RateLimiterRes, type RateLimiterRedis } from 'rate-limiter-flexible';
import { ProblemError } from '@relay/problem';
import { hiddenKey, sharedLimiter, type FailureLimit } from '@relay/access';
import type { Redis } from 'ioredis';
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { presentReply, answering, type FastifyReply, type FastifyRequest } from './fastify-request.js';

/** A quota of draft-ietf-httpapi-ratelimit-headers: a number of requests in a number of milliseconds. */
export type Quota = FailureLimit;

/**
 * Returns the headers `RateLimit-Policy` (the quota) and `RateLimit` (the remaining requests, and the seconds until
 * renewal).
 */
const rateLimitHeaders = (
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

/**
 * Adds a quota to the headers of an answer. Both headers are lists (RFC 9651). The quota with the smallest remaining share
 * is first.
 */
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

/** Returns the headers of a 429. `Retry-After` is never earlier than the renewal of the quota. */
export const spentHeaders = (quota: Quota, waitS: number): Readonly<Record<string, string>> => ({
  'retry-after': String(waitS),
  ...rateLimitHeaders(quota, 0, waitS),
});

interface Allowance {
  readonly isSpent: boolean;
  readonly remaining: number;
  /** Whole seconds until the quota is renewed. */
  readonly resetS: number;
}

const allowanceOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes, isSpent: boolean): Allowance => ({
  isSpent,
  remaining: remainingPoints,
  resetS: Math.max(1, Math.ceil(msBeforeNext / 1_000)),
});

/** @throws ProblemError `too-many-requests` if the quota is used up */
function tellOrRefuse(
  quota: Quota,
  { isSpent, remaining, resetS }: Allowance,
  reply: FastifyReply | undefined,
  detail: string,
): void {
  if (isSpent) throw new ProblemError('too-many-requests', detail, { headers: spentHeaders(quota, resetS) });
  if (reply !== undefined) tellQuota(reply, quota, remaining, resetS);
}

/**
 * Counts the requests of each partner to this process. It counts in memory, because a round trip to Redis for each request
 * costs more than the limit saves.
 */
export class PartnerQuota {
  readonly #limiter: RateLimiterMemory;

  constructor(readonly quota: Quota) {
    this.#limiter = new RateLimiterMemory({ points: quota.points, duration: quota.windowMs / 1_000 });
  }

  /** Counts points, even if that exceeds the quota. */
  consume(clientId: string, points: number): Promise<RateLimiterRes> {
    return this.#limiter.consume(clientId, points).catch((refused: unknown) => {
      if (refused instanceof RateLimiterRes) return refused;
      throw refused;
    });
  }

  /**
   * Counts points and adds the quota to the headers of `reply`, which is by default the answer to the present request.
   * @param detail text of the problem if the quota is used up
   * @throws ProblemError `too-many-requests`
   */
  async charge(clientId: string, detail: string, points: number, reply?: FastifyReply): Promise<void> {
    const used = await this.consume(clientId, points);
    const isSpent = used.consumedPoints > this.quota.points;
    tellOrRefuse(this.quota, allowanceOf(used, isSpent), reply ?? presentReply(), detail);
  }
}

/**
 * A quota over all processes, which needs one Redis command for each use. While Redis does not answer, each process counts
 * for itself. If the limiter has a fault, no caller is refused. For frequent requests, `PartnerQuota` is cheaper.
 */
export class SharedQuota {
  readonly #limiter: RateLimiterRedis;

  constructor(
    redis: Redis,
    readonly quota: Quota,
  ) {
    this.#limiter = sharedLimiter(redis, 'quota', quota);
  }

  /** Counts the points of a use, even if that exceeds the quota. */
  async consume(key: string, points = 1): Promise<Allowance> {
    try {
      return allowanceOf(await this.#limiter.consume(hiddenKey(key), points), false);
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return allowanceOf(refused, true);
      // A fault of the limiter itself must not lead to a refusal.
      return { isSpent: false, remaining: this.quota.points, resetS: Math.ceil(this.quota.windowMs / 1_000) };
    }
  }

  /**
   * Counts a use and writes the rest of the quota into the headers of the answer.
   * @param detail text of the problem if the quota is used up
   * @throws ProblemError `too-many-requests`
   */
  async admit(key: string, reply: FastifyReply, detail: string): Promise<void> {
    tellOrRefuse(this.quota, await this.consume(key), reply, detail);
  }
}

/**
 * Limits the requests of each partner to this process, and writes the rest of the quota into every answer. While the handler
 * runs, `presentReply` returns this answer. The interceptor runs after the guards, so the caller is known. Sources have no
 * such limit. They get 503 if the log cannot keep up. Only the controllers of partners name the interceptor. If it were
 * global, each envelope in the ingress would take a tenth longer.
 */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(private readonly partnerQuota: PartnerQuota) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const { caller } = http.getRequest<FastifyRequest>();
    if (caller === undefined) return next.handle();
    const reply = http.getResponse<FastifyReply>();
    await this.partnerQuota.charge(caller.clientId, 'You have used up your requests for now.', 1, reply);
    return new Observable((subscriber) => answering(reply, () => next.handle().subscribe(subscriber)));
  }
}
