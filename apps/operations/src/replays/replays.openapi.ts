import { LINK, type OperationText } from '@relay/openapi';
import { z } from 'zod';
import {
  EXAMPLE,
  OperatorReplay,
  OperatorReplays,
  OrderedReplays,
  ReplayOrder,
  ReplayQuery,
} from './replay-answers.js';

const tag = 'Replays';
const path = { id: { schema: z.string().max(100).describe('Identifier of the replay.'), example: EXAMPLE.id } };
const content = { schema: OperatorReplay, example: EXAMPLE };

export const listReplays: OperationText = {
  id: 'listReplays',
  tag,
  summary: 'List the replays of all partners',
  query: ReplayQuery,
  answer: { description: 'The replays, newest first.', headers: LINK, content: { schema: OperatorReplays } },
};

export const readReplay: OperationText = {
  id: 'readReplay',
  tag,
  summary: 'Read how far a replay is',
  path,
  answer: { description: 'The replay.', content },
  problems: ['not-found'],
};

export const orderReplay: OperationText = {
  id: 'orderReplay',
  tag,
  summary: 'Deliver the envelopes of a time once more',
  description:
    'To one `webhook`, as its partner could by `POST /webhooks/{id}/replay` of the ingress. A webhook has one replay at a time: while another runs, the answer is 409 with its `id`. A disabled webhook gets none. Envelopes that wait in the log for the webhook are left out and not counted: it gets them without a replay. Or to each of `webhooks`: the answer has a replay for each, as if it was ordered alone, and names those that are left out. If none can get one, an order is answered 409 with `leftOut`. `relay.operations` has a record of each replay before the first is ordered; Kafka is asked once for each event type.',
  body: {
    isRequired: true,
    schema: ReplayOrder,
    example: { webhook: EXAMPLE.webhookId, since: '2030-01-01T00:00:00Z', dryRun: true },
  },
  answer: {
    description: 'It is ordered, or counted only.',
    content: { schema: z.union([OperatorReplay, OrderedReplays]), example: EXAMPLE },
  },
  problems: ['not-found', 'conflict'],
};

export const pauseReplay: OperationText = {
  id: 'pauseReplay',
  tag,
  summary: 'Pause a replay',
  description: 'Deliveries handed over by then are still made. Whoever ordered it. A paused one stays so.',
  path,
  answer: { description: 'The paused replay.', content },
  problems: ['not-found', 'conflict'],
};

export const resumeReplay: OperationText = {
  id: 'resumeReplay',
  tag,
  summary: 'Resume a paused replay',
  path,
  answer: { description: 'The running replay.', content },
  problems: ['not-found', 'conflict'],
};

export const cancelReplay: OperationText = {
  id: 'cancelReplay',
  tag,
  summary: 'End a replay',
  description: 'Deliveries handed over by then are still made. An ended replay stays unchanged.',
  path,
  answer: { description: 'It has ended or is ending.' },
  problems: ['not-found'],
};
