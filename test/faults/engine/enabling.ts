import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../support/client.js';
import type { Endpoint } from './endpoints.js';

const EVERY_MS = 500;

/**
 * The partner enables its webhooks again and again: one that answers 410 now and then is disabled by it, what comes is
 * parked, and all of that is caught up whatever fails meanwhile. Ends when the trial does.
 */
export async function keepEnabled(
  partner: Client,
  endpoints: readonly Endpoint[],
  hasEnded: () => boolean,
): Promise<void> {
  const disabling = endpoints.filter(({ isDisabling }) => isDisabling);
  while (!hasEnded()) {
    for (const { webhookId } of disabling) {
      // The ingress may be what the fault is about; a token may be of one that is gone.
      const answer = await partner.request('POST', `/webhooks/${webhookId}/enable`).catch(() => undefined);
      if (answer?.status === 401) partner.forgetToken();
    }
    await delay(EVERY_MS, undefined, { ref: false });
  }
}
