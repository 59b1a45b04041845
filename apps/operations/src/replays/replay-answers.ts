import { EVENT_TYPES } from '@relay/events';
import { ReplayAnswer, replayFacts, ReplayRequest, type ReplayStatus } from '@relay/replays';
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

export const ReplayOrder = z
  .strictObject({ webhook: WebhookId, ...ReplayRequest.shape })
  .refine(({ since, until }) => since === undefined || until === undefined || Date.parse(since) < Date.parse(until), {
    path: ['until'],
    message: 'must be later than since',
  })
  .meta({ id: 'ReplayOrder', description: 'Which envelopes are to be delivered again to which webhook.' });
export type ReplayOrder = z.infer<typeof ReplayOrder>;

export const shownOf = (replay: ReplayStatus): OperatorReplay => ({
  ...replayFacts(replay),
  partnerId: replay.partnerId,
  eventType: replay.eventType,
  orderedBy: replay.orderedBy,
});

export const EXAMPLE = {
  id: 'b8d1a0c2-4f5e-4a6b-9c7d-8e9f0a1b2c3d',
  webhookId: '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d',
  status: 'all',
  since: '2030-01-01T00:00:00.000Z',
  until: null,
  state: 'running',
  matched: 12_000,
  done: 4_210,
  failed: 3,
  ratePerSecond: 390.5,
  secondsLeft: 19.9,
  createdAt: '2030-01-02T08:00:00.000Z',
  endedAt: null,
  partnerId: 'partner_0Zt1',
  eventType: EVENT_TYPES[0],
  orderedBy: 'operator',
};
