import { ShownAttempt } from '@relay/events';
import { WebhookDetails, WebhookId } from '@relay/webhooks';
import { z } from 'zod';
import { webhooksPage } from '../webhooks/list-query.js';

const moment = z.iso.datetime();

export const StatesQuery = z.strictObject({
  ...webhooksPage(100, /^(?:[1-9]\d?|100)$/),
  webhookId: WebhookId.optional().describe('Only this webhook.'),
});

export const WebhookState = WebhookDetails.pick({
  id: true,
  eventType: true,
  endPointUrl: true,
  endPointName: true,
  status: true,
  disabledReason: true,
  waiting: true,
})
  .extend({
    oldestWaitingAt: moment
      .nullable()
      .describe(
        'When the envelope of the oldest delivery in the queue was accepted; `null` without one, or if more than 100 wait.',
      ),
    dead: z.int().describe('Dead deliveries that can be retried.'),
    delivered: z
      .int()
      .describe(
        'Successful attempts of the last 24 hours, unless the operator keeps them for another time. A crash, or scarce memory, can leave some out.',
      ),
    failedAttempts: z
      .int()
      .describe('Failed attempts of the same time, which begins with a whole hour here. A crash can leave some out.'),
    failureRate: z
      .number()
      .nullable()
      .describe('Share of `failedAttempts` in both, 0 to 1; `null` if there was no attempt.'),
    lastDelivered: z
      .object({
        envelopeId: z.guid(),
        at: moment,
        status: z.int().nullable().describe('HTTP status of the endpoint.'),
        durationMs: z.int().nullable(),
      })
      .nullable()
      .describe('The last successful delivery of that time.'),
    lastGood: ShownAttempt.nullable().describe(
      'A successful attempt with what the endpoint answered. Each worker keeps one in ten minutes; it may be older than the others here.',
    ),
    lastFailure: ShownAttempt.nullable().describe('The last failed attempt of that time.'),
  })
  .meta({ id: 'WebhookState', description: 'A webhook and how its deliveries stand.' });
export type WebhookState = z.infer<typeof WebhookState>;

export const WebhookStatesAnswer = z.object({ webhooks: z.array(WebhookState) }).meta({ id: 'WebhookStates' });
export type WebhookStatesAnswer = z.infer<typeof WebhookStatesAnswer>;
