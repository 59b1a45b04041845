import { AsyncLocalStorage } from 'node:async_hooks';
import { ProblemError } from '@relay/problem';
import { spentHeaders, type FastifyReply, type SharedQuota } from '@relay/http';

const SPENT = 'You have changed webhooks often enough for now.';

/**
 * What one partner may change over all processes: the registry's log keeps each change. Only what is about to be appended to it
 * is charged, hence deep within a request, whose answer tells what is left.
 */
export class ChangeBudget {
  readonly #replies = new AsyncLocalStorage<FastifyReply>();

  constructor(private readonly quota: Pick<SharedQuota, 'quota' | 'admit' | 'consume'>) {}

  /** What is charged within is told in this answer. */
  within<T>(reply: FastifyReply, handle: () => T): T {
    return this.#replies.run(reply, handle);
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
