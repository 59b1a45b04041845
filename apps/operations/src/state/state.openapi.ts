import type { OperationText } from '@relay/openapi';
import { LagAnswer, QueuesAnswer } from './state-answers.js';

const tag = 'State';

export const readHome: OperationText = {
  id: 'readHome',
  tag,
  summary: 'Go to the board',
  answer: { description: 'The board is elsewhere.', headers: { Location: 'The board.' } },
};

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
