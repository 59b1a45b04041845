import { AsyncLocalStorage } from 'node:async_hooks';
import { ProblemError } from '@relay/problem';
import { spentHeaders, type FastifyReply, type SharedQuota } from '@relay/http';

const SPENT = 'You have changed webhooks often enough for now.';

/**
 * The changes that one partner may make over all processes: the registry’s log keeps each of them. The charge occurs
 * deep within a request, immediately before a command is appended; the answer reports the rest.
 */
export class ChangeBudget {
  readonly #replies = new AsyncLocalStorage<FastifyReply>();

  constructor(private readonly quota: Pick<SharedQuota, 'quota' | 'admit' | 'consume'>) {}

  /** Runs the handler so that this answer reports the charges within it. */
  within<T>(reply: FastifyReply, handle: () => T): T {
    return this.#replies.run(reply, handle);
  }

  /** @throws ProblemError `too-many-requests` */
  async charge(partnerId: string): Promise<void> {
    const reply = this.#replies.getStore();
    // Work that outlives its answer has no headers to report in.
    if (reply?.sent === false) return this.quota.admit(partnerId, reply, SPENT);
    const { isSpent, resetS } = await this.quota.consume(partnerId);
    if (isSpent)
      throw new ProblemError('too-many-requests', SPENT, { headers: spentHeaders(this.quota.quota, resetS) });
  }
}
