import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import { Observable } from 'rxjs';
import type { FastifyReply } from '../http/fastify-request.js';
import { spentHeaders } from '../http/rate-limit.js';
import type { SharedQuota } from '../http/shared-quota.adapter.js';

const SPENT = 'You have changed webhooks often enough for now.';

/**
 * What one partner may change over all processes: the registry's log keeps each change. Only what is about to be appended to it
 * is charged, hence deep within a request; as an interceptor it knows whose answer tells what is left.
 */
@Injectable()
export class ChangeBudget implements NestInterceptor {
  readonly #replies = new AsyncLocalStorage<FastifyReply>();

  constructor(private readonly quota: Pick<SharedQuota, 'quota' | 'admit' | 'consume'>) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return new Observable((subscriber) => this.#replies.run(reply, () => next.handle().subscribe(subscriber)));
  }

  /** @throws ProblemError `too-many-requests` */
  async charge(partnerId: string): Promise<void> {
    const reply = this.#replies.getStore();
    // What goes on beside an answer that was given has nobody to tell.
    if (reply?.sent === false) return this.quota.admit(partnerId, reply, SPENT);
    const { isSpent, resetS } = await this.quota.consume(partnerId);
    if (isSpent)
      throw new ProblemError('too-many-requests', SPENT, { headers: spentHeaders(this.quota.quota, resetS) });
  }
}
