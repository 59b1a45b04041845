import type { FailureLimiter } from '@relay/access';
import { spentHeaders, type SharedQuota } from '@relay/http';
import { ProblemError } from '@relay/problem';
import type { Webhook } from '@relay/webhooks';

/** How often a partner may test, over all processes. */
export class TestLimits {
  constructor(
    /** Counts every test of a webhook. */
    private readonly ofWebhook: FailureLimiter,
    /** Counts every test of a partner's endpoints without a webhook. */
    private readonly ofDrafts: FailureLimiter,
    /** Counts every test of a partner. */
    private readonly ofPartner: Pick<SharedQuota, 'consume' | 'quota'>,
  ) {}

  /** @throws ProblemError `too-many-requests` */
  async countWebhook({ id, partnerId }: Pick<Webhook, 'id' | 'partnerId'>): Promise<void> {
    await counted(this.ofWebhook, id, 'This webhook has');
    await this.#countPartner(partnerId);
  }

  /** @throws ProblemError `too-many-requests` */
  async countDraft(partnerId: string): Promise<void> {
    await counted(this.ofDrafts, partnerId, 'Endpoints without a webhook have');
    await this.#countPartner(partnerId);
  }

  async #countPartner(partnerId: string): Promise<void> {
    const { isSpent, resetS } = await this.ofPartner.consume(partnerId);
    if (isSpent) throw tooOften('Your webhooks have', spentHeaders(this.ofPartner.quota, resetS));
  }
}

async function counted(limiter: FailureLimiter, key: string, whose: string): Promise<void> {
  const waitS = await limiter.fail(key);
  if (waitS !== undefined) throw tooOften(whose, spentHeaders(limiter.limit, waitS));
}

const tooOften = (whose: string, headers: Readonly<Record<string, string>>): ProblemError =>
  new ProblemError('too-many-requests', `${whose} been tested too often for now.`, { headers });
