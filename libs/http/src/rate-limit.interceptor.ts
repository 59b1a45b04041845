import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import { Observable } from 'rxjs';
import type { FastifyReply, FastifyRequest } from './fastify-request.js';
import { PartnerQuota } from './partner-quota.adapter.js';
import { answering } from './present-reply.js';
import { spentHeaders, tellQuota } from './rate-limit.js';

/**
 * Limits the requests of one partner to this process and reports the rest of the quota in every answer, which is `presentReply` from then on. It runs after
 * the guards, so the caller is known. Sources have no limit: they get 503 when the log cannot keep up. The interceptor
 * is not global, since it would cost each envelope a tenth of its time in the ingress; the controllers of partners name
 * it.
 */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(private readonly partnerQuota: PartnerQuota) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const { caller } = http.getRequest<FastifyRequest>();
    if (caller === undefined) return next.handle();
    const { quota } = this.partnerQuota;
    const { consumedPoints, msBeforeNext, remainingPoints } = await this.partnerQuota.consume(caller.clientId);
    const resetS = Math.max(1, Math.ceil(msBeforeNext / 1_000));
    if (consumedPoints > quota.points)
      throw new ProblemError('too-many-requests', 'You have used up your requests for now.', {
        headers: spentHeaders(quota, resetS),
      });
    const reply = http.getResponse<FastifyReply>();
    tellQuota(reply, quota, remainingPoints, resetS);
    return new Observable((subscriber) => answering(reply, () => next.handle().subscribe(subscriber)));
  }
}
