import type { OperationText } from '@relay/openapi';
import { z } from 'zod';
import { EXAMPLE } from './replay-answers.js';
import { GROUP_EXAMPLE, MOST_WEBHOOKS, ReplayGroupAnswer, ReplayGroupOrder } from './replay-group-answers.js';

const tag = 'Replays';
const path = { id: { schema: z.string().max(100).describe('Identifier of the group.'), example: GROUP_EXAMPLE.id } };
const content = { schema: ReplayGroupAnswer, example: GROUP_EXAMPLE };

export const orderReplays: OperationText = {
  id: 'orderReplays',
  tag,
  summary: 'Deliver the envelopes of a time once more to several webhooks',
  description: `Each of them gets the replay that \`POST /replays\` would order. A webhook that is unknown, disabled or has a replay under way is left out and named; if none is left, the answer is 409. \`relay.operations\` has one record of the order, with the webhooks, before the first replay. One order is for ${MOST_WEBHOOKS} webhooks at the most, and asks Kafka once for each event type.`,
  body: {
    isRequired: true,
    schema: ReplayGroupOrder,
    example: { webhooks: [EXAMPLE.webhookId], since: '2030-01-01T00:00:00Z', dryRun: true },
  },
  answer: { description: 'They are ordered, or counted only.', content },
  problems: ['conflict'],
};

export const readReplayGroup: OperationText = {
  id: 'readReplayGroup',
  tag,
  summary: 'Read how far the replays of a group are',
  path,
  answer: { description: 'The group.', content },
  problems: ['not-found'],
};

export const pauseReplayGroup: OperationText = {
  id: 'pauseReplayGroup',
  tag,
  summary: 'Pause the running replays of a group',
  description: 'Deliveries handed over by then are still made. Paused ones stay so.',
  path,
  answer: { description: 'The paused group.', content },
  problems: ['not-found', 'conflict'],
};

export const resumeReplayGroup: OperationText = {
  id: 'resumeReplayGroup',
  tag,
  summary: 'Resume the paused replays of a group',
  path,
  answer: { description: 'The running group.', content },
  problems: ['not-found', 'conflict'],
};

export const cancelReplayGroup: OperationText = {
  id: 'cancelReplayGroup',
  tag,
  summary: 'End the replays of a group',
  description: 'Deliveries handed over by then are still made. Ended replays stay unchanged.',
  path,
  answer: { description: 'They have ended or are ending.' },
  problems: ['not-found'],
};
