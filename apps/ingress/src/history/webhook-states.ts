import type { DeadLetterIndex } from '@relay/dead-letters';
import { failureRateOf, type AttemptCounts, type HistoryLine, type RedisAttemptCounts } from '@relay/history';
import type { WaitingJobs } from '@relay/jobs';
import { parseDeliveryId } from '@relay/delivery';
import { shownAttempt } from '@relay/events';
import type { RegisteredWebhook } from '@relay/webhooks';
import type { WebhookWaiting } from '../webhooks/webhook-waiting.adapter.js';
import type { WebhookState } from './webhook-state.js';

/** The oldest of more waiting deliveries is not looked for. */
const LOOKED_THROUGH = 100;

/** How the deliveries of webhooks stand. Callers check the owner of the webhooks first. */
export class WebhookStates {
  constructor(
    private readonly waiting: Pick<WebhookWaiting, 'of'>,
    private readonly jobs: Pick<WaitingJobs, 'ids'>,
    private readonly letters: Pick<DeadLetterIndex, 'count'>,
    private readonly counts: Pick<RedisAttemptCounts, 'of'>,
  ) {}

  async of(webhooks: readonly RegisteredWebhook[]): Promise<WebhookState[]> {
    const counts = await this.counts.of(webhooks.map(({ id }) => id));
    return Promise.all(webhooks.map((webhook, index) => this.#of(webhook, counts[index] as AttemptCounts)));
  }

  async #of(
    { id, eventType, endPointUrl, endPointName, disabledReason, status: registered }: RegisteredWebhook,
    { delivered, failed, lastDelivered, lastGood, lastFailure }: AttemptCounts,
  ): Promise<WebhookState> {
    const [{ status, waiting }, dead] = await Promise.all([this.waiting.of(id, registered), this.letters.count(id)]);
    const oldest = waiting > 0 && waiting <= LOOKED_THROUGH ? acceptedFirst(await this.jobs.ids(id)) : undefined;
    return {
      id,
      eventType,
      endPointUrl,
      endPointName,
      status,
      disabledReason,
      waiting,
      oldestWaitingAt: oldest === undefined ? null : new Date(oldest).toISOString(),
      dead,
      delivered,
      failedAttempts: failed,
      failureRate: failureRateOf({ delivered, failed }),
      lastDelivered: lastDelivered === undefined ? null : successOf(lastDelivered),
      lastGood: lastGood === undefined ? null : shownAttempt(lastGood),
      lastFailure: lastFailure === undefined ? null : shownAttempt(lastFailure),
    };
  }
}

/** Epoch milliseconds; undefined if all have ended meanwhile. */
function acceptedFirst(ids: readonly string[]): number | undefined {
  const times = ids.flatMap((id) => parseDeliveryId(id)?.acceptedAt ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

const successOf = ({ envelopeId, endedAt, attempts }: HistoryLine): WebhookState['lastDelivered'] => ({
  envelopeId,
  at: new Date(endedAt).toISOString(),
  status: attempts.at(-1)?.status ?? null,
  durationMs: attempts.at(-1)?.durationMs ?? null,
});
