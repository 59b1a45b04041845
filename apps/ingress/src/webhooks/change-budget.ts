import { AsyncLocalStorage } from 'node:async_hooks';
import { ProblemError } from '@relay/problem';
import { spentHeaders, type FastifyReply, type SharedQuota } from '@relay/http';

const SPENT = 'You have changed webhooks too often for now.';

/**
 * The budget of changes of one partner over all processes: the registry's log keeps every change. Only a change that is about to be
 * appended is charged, hence deep within a request, whose answer carries the rest of the budget.
 */
export class ChangeBudget {
  readonly #replies = new AsyncLocalStorage<FastifyReply>();

  constructor(private readonly quota: Pick<SharedQuota, 'quota' | 'admit' | 'consume'>) {}

  /** Charges within `handle` add their headers to this answer. */
  within<T>(reply: FastifyReply, handle: () => T): T {
    return this.#replies.run(reply, handle);
  }

  /** @throws ProblemError `too-many-requests` */
  async charge(partnerId: string): Promise<void> {
    const reply = this.#replies.getStore();
    // Work that continues after the answer has no headers to set.
    if (reply?.sent === false) return this.quota.admit(partnerId, reply, SPENT);
    const { isSpent, resetS } = await this.quota.consume(partnerId);
    if (isSpent)
      throw new ProblemError('too-many-requests', SPENT, { headers: spentHeaders(this.quota.quota, resetS) });
  }
}
