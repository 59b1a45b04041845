import { ProblemError } from '@relay/problem';
import { spentHeaders, type SharedQuota } from '@relay/http';
import type { PresentRequest } from './present-request.js';

const SPENT = 'You have changed webhooks too often for now.';

/**
 * The budget of changes of one partner over all processes: the registry's log keeps every change. Only a change that is about to be
 * appended is charged, hence deep within a request, whose answer carries the rest of the budget.
 */
export class ChangeBudget {
  constructor(
    private readonly quota: Pick<SharedQuota, 'quota' | 'admit' | 'consume'>,
    private readonly present: Pick<PresentRequest, 'reply'>,
  ) {}

  /** @throws ProblemError `too-many-requests` */
  async charge(partnerId: string): Promise<void> {
    const { reply } = this.present;
    // Work that continues after the answer has no headers to set.
    if (reply !== undefined) return this.quota.admit(partnerId, reply, SPENT);
    const { isSpent, resetS } = await this.quota.consume(partnerId);
    if (isSpent)
      throw new ProblemError('too-many-requests', SPENT, { headers: spentHeaders(this.quota.quota, resetS) });
  }
}
