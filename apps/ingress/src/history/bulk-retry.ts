import type { AskingPartner } from '@relay/audit';
import { LOOKED_AT, type DeliveryLists, type Entry } from './delivery-lists.js';
import { cursorOf, placeOf } from './delivery-place.js';
import type { DeliveryRetries, Retryable } from './delivery-retries.js';
import type { HistoryQuota } from './history-quota.adapter.js';
import { timeOf } from './partner-deliveries.js';
import type { RetrySelection, SelectionRetried } from './retry-request.js';

/** Deliveries that one call retries, since their ids are one record of the audit. */
const AT_ONCE = 100;
/** Retries for one point of the quota. */
export const RETRIES_A_POINT = 10;

/** Retries the deliveries that a filter selects, newest first, some with each call. */
export class BulkRetry {
  constructor(
    private readonly lists: Pick<DeliveryLists, 'page'>,
    private readonly retries: Pick<DeliveryRetries, 'retry'>,
    private readonly quota: Pick<HistoryQuota, 'admit'>,
    private readonly now: () => number,
  ) {}

  /** @throws ProblemError `too-many-requests` before any delivery is changed, and as `DeliveryRetries` does */
  async retry(
    by: AskingPartner,
    webhookIds: readonly string[],
    { status, since, until, httpStatus, error, dryRun, cursor }: RetrySelection,
  ): Promise<SelectionRetried> {
    const end = timeOf(until) ?? this.now();
    const filter = { statuses: [status], since: timeOf(since), until: end, httpStatus, error };
    const after = cursor === undefined ? undefined : placeOf(cursor);
    const { entries, next } = await this.lists.page(webhookIds, filter, after, dryRun ? LOOKED_AT : AT_ONCE);
    const found = {
      matched: entries.length,
      cursor: next === undefined ? null : cursorOf(next),
      until: new Date(end).toISOString(),
    };
    if (dryRun) return { ...found, retried: 0, refused: [] };
    await this.quota.admit(by.partnerId, Math.ceil(entries.length / RETRIES_A_POINT));
    const { retried, refused } = await this.retries.retry(by, entries.flatMap(retryableOf));
    return { ...found, retried, refused: [...refused] };
  }
}

const retryableOf = ({ place, facts: { webhookId, status } }: Entry): Retryable[] =>
  'id' in place ? [{ id: place.id, webhookId, isDead: status === 'dead' }] : [];
