import type { OperationText } from '@relay/openapi';
import { LagAnswer, QueuesAnswer } from './state-answers.js';

const tag = 'State';

export const readQueues: OperationText = {
  id: 'readQueues',
  tag,
  summary: 'Jobs by queue and state',
  answer: { description: 'Both queues.', content: { schema: QueuesAnswer } },
};

export const readLag: OperationText = {
  id: 'readLag',
  tag,
  summary: 'Unsettled records by topic',
  answer: { description: 'Topics that exist.', content: { schema: LagAnswer } },
};
