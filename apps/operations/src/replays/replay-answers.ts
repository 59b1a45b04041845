import { EVENT_TYPES } from '@relay/events';
import {
  REPLAY_EXAMPLE,
  ReplayAnswer,
  ReplayCursor,
  replayFacts,
  ReplayRequest,
  type ReplayStatus,
  type ReplayTarget,
} from '@relay/replays';
import { WebhookId } from '@relay/webhooks';
import { z } from 'zod';

const MAX_LIMIT = 10_000;
/** Most webhooks of one order. Each runs a script in Redis, and all must be stored within the time for an answer. */
const MOST_WEBHOOKS = 1_000;

export const ReplayQuery = z.strictObject({
  state: z.enum(['running', 'paused', 'done', 'cancelled']).optional().describe('Only replays in this state.'),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(1_000).describe('Longest page: 1 to 10,000.'),
  cursor: ReplayCursor,
});

/** Most replays read to find the ones in one state. */
export const LOOKED_AT = MAX_LIMIT;

export const OperatorReplay = ReplayAnswer.extend({
  partnerId: z.string(),
  eventType: z.string(),
  orderedBy: z.enum(['partner', 'operator']),
}).meta({ id: 'OperatorReplay', description: 'Deliveries made again, how far that is, and who ordered them.' });
export type OperatorReplay = z.infer<typeof OperatorReplay>;

export const OperatorReplays = z
  .object({ replays: z.array(OperatorReplay) })
  .meta({ id: 'OperatorReplays', description: 'Replays of all partners, newest first.' });

export const ReplayOrder = ReplayRequest.safeExtend({
  webhook: WebhookId.optional().describe('To this webhook.'),
  webhooks: z.array(WebhookId).min(1).max(MOST_WEBHOOKS).optional().describe('To each of these webhooks.'),
})
  .refine(({ webhook, webhooks }) => (webhook === undefined) !== (webhooks === undefined), {
    path: ['webhook'],
    message: 'say to which webhooks: either webhook or webhooks',
  })
  .meta({
    id: 'ReplayOrder',
    description:
      'Which envelopes are to be delivered again, and to which webhook or webhooks: one of both is required.',
  });
export type ReplayOrder = z.infer<typeof ReplayOrder>;

export const LeftOut = z.object({
  webhookId: z.string(),
  why: z
    .enum(['unknown', 'disabled', 'running'])
    .describe(
      '`unknown`: it is not registered; `disabled`: it gets nothing until it is enabled; `running`: it has another replay under way.',
    ),
  replayId: z.string().nullable().describe('The other replay.'),
});
export type LeftOut = z.infer<typeof LeftOut>;

export const OrderedReplays = z
  .object({
    replays: z.array(OperatorReplay).describe('In the order of `webhooks`.'),
    leftOut: z.array(LeftOut).describe('Webhooks that get no replay.'),
  })
  .meta({ id: 'OrderedReplays', description: 'What became of an order to several webhooks.' });
export type OrderedReplays = z.infer<typeof OrderedReplays>;

const timeOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));

/** Returns the time window of an order. */
export const windowOf = ({ since, until }: ReplayRequest) => ({ since: timeOf(since), until: timeOf(until) });

export const shownOf = (replay: ReplayStatus): OperatorReplay => ({
  ...replayFacts(replay),
  partnerId: replay.partnerId,
  eventType: replay.eventType,
  orderedBy: replay.orderedBy,
});

/** Returns the answer to a dry run. */
export function countedOf(
  target: ReplayTarget,
  counted: { readonly since: number | undefined; readonly until: number | undefined; readonly matched: number },
  now: number,
): OperatorReplay {
  const facts = { id: '', ...target, ...counted, orderedBy: 'operator', done: 0, failed: 0, ratePerSecond: 0 } as const;
  const shown = shownOf({ ...facts, state: 'done', secondsLeft: undefined, createdAt: now, endedAt: now });
  return { ...shown, id: null, state: 'dry-run' };
}

export const EXAMPLE = {
  ...REPLAY_EXAMPLE,
  partnerId: 'partner_0Zt1',
  eventType: EVENT_TYPES[0],
  orderedBy: 'operator',
} satisfies OperatorReplay;
