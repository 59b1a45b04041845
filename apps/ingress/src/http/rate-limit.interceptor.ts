import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Observable } from 'rxjs';
import type { FastifyReply, FastifyRequest } from './fastify-request.js';
import { rateLimitHeaders, spentHeaders, type Quota } from './rate-limit.js';

/**
 * Limits what one partner may ask of this process, and tells it with every answer how much is left. It runs after the guards, so
 * it knows the caller; it counts in memory, because a round trip for each request would cost more than it protects. Sources are
 * not limited here: when the log cannot keep up they are told 503.
 */
export class RateLimitInterceptor implements NestInterceptor {
  readonly #limiter: RateLimiterMemory;

  constructor(private readonly quota: Quota) {
    this.#limiter = new RateLimiterMemory({ points: quota.points, duration: quota.windowMs / 1_000 });
  }

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const { caller } = http.getRequest<FastifyRequest>();
    if (caller === undefined || caller.scopes.includes('deliveries:write')) return next.handle();
    const state = await this.#consume(caller.clientId);
    const resetS = Math.max(1, Math.ceil(state.msBeforeNext / 1_000));
    if (state.consumedPoints > this.quota.points)
      throw new ProblemError('too-many-requests', 'You have used up your requests for now.', {
        headers: spentHeaders(this.quota, resetS),
      });
    void http.getResponse<FastifyReply>().headers(rateLimitHeaders(this.quota, state.remainingPoints, resetS));
    return next.handle();
  }

  async #consume(clientId: string): Promise<RateLimiterRes> {
    try {
      return await this.#limiter.consume(clientId);
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return refused;
      throw refused;
    }
  }
}
