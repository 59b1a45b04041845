import { LINK, operationsOf } from '@relay/openapi';
import { REPLAY_EXAMPLE, ReplayAnswer, ReplayCursor, ReplayId, ReplayRequest } from '@relay/replays';
import { WebhookId } from '@relay/webhooks';
import { z } from 'zod';
import { pageLimit } from '../webhooks/listings.js';

export const ReplaysQuery = z.strictObject({ limit: pageLimit(100, /^(?:[1-9]\d?|100)$/, 20), cursor: ReplayCursor });

export const ReplayAnswers = z
  .object({ replays: z.array(ReplayAnswer) })
  .meta({ id: 'Replays', description: 'Replays, newest first.' });
export type ReplayAnswers = z.infer<typeof ReplayAnswers>;

const running = { schema: ReplayAnswer, example: REPLAY_EXAMPLE };

export const operations = operationsOf('Webhooks', {
  replayWebhook: {
    summary: 'Deliver the envelopes of a time once more',
    description:
      'Replayed deliveries are made beside new ones, within the same limits and with the same `webhook-id`; `relay-attempt` counts from 1 again. Envelopes that wait in the log for the webhook are left out and not counted: it gets them without a replay. The log keeps envelopes for seven days unless the operator says otherwise. With `status: failed` only envelopes with a dead letter of the webhook are replayed; each dead letter becomes a delivery that is due at once, and one that fails once more is a dead letter again. A webhook has one replay at a time: while another runs, the answer is 409 with its `id`.',
    path: { id: { schema: WebhookId, example: REPLAY_EXAMPLE.webhookId } },
    body: { isRequired: false, schema: ReplayRequest, example: { since: '2030-01-01T00:00:00Z', dryRun: false } },
    answer: {
      description: 'It is ordered, or counted only.',
      content: running,
      headers: { Location: 'Where its progress is read; not after a dry run.' },
    },
    problems: ['not-found', 'conflict', 'unavailable'],
  },
  listReplays: {
    summary: 'List your replays',
    description: 'Those that you or the operator ordered in the last 30 days: the newest 20 of each webhook.',
    query: ReplaysQuery,
    answer: {
      description: 'The replays, newest first.',
      headers: LINK,
      content: { schema: ReplayAnswers, example: { replays: [running.example] } },
    },
  },
  readReplay: {
    summary: 'Read how far a replay is',
    description: 'The relay keeps the newest 20 replays of a webhook for 30 days.',
    path: { id: { schema: ReplayId, example: REPLAY_EXAMPLE.id } },
    answer: { description: 'The replay.', content: running },
    problems: ['not-found'],
  },
  cancelReplay: {
    summary: 'End a replay',
    description:
      'The replay ends within a second or two; deliveries handed over by then are still made. An ended replay stays unchanged.',
    path: { id: { schema: ReplayId, example: REPLAY_EXAMPLE.id } },
    answer: { description: 'It has ended or is ending.' },
    problems: ['not-found', 'unavailable'],
  },
});
