import { EVENT_TYPES } from '@relay/events';
import { REPLAY_EXAMPLE, ReplayAnswer, replayFacts, ReplayRequest, type ReplayStatus } from '@relay/replays';
import { WebhookId } from '@relay/webhooks';
import { z } from 'zod';

const MAX_LIMIT = 10_000;

export const ReplayQuery = z.strictObject({
  state: z.enum(['running', 'paused', 'done', 'cancelled']).optional().describe('Only replays in this state.'),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(1_000).describe('Longest list: 1 to 10,000.'),
});

/** How many replays are looked at to find those in one state. */
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

export const ReplayOrder = ReplayRequest.safeExtend({ webhook: WebhookId })
  .strict()
  .meta({ id: 'ReplayOrder', description: 'Which envelopes are to be delivered again to which webhook.' });
export type ReplayOrder = z.infer<typeof ReplayOrder>;

export const shownOf = (replay: ReplayStatus): OperatorReplay => ({
  ...replayFacts(replay),
  partnerId: replay.partnerId,
  eventType: replay.eventType,
  orderedBy: replay.orderedBy,
});

export const EXAMPLE = {
  ...REPLAY_EXAMPLE,
  partnerId: 'partner_0Zt1',
  eventType: EVENT_TYPES[0],
  orderedBy: 'operator',
};
