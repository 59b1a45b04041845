import type { OperationText } from '@relay/openapi';
import { Now } from './now-answers.js';

export const readNow: OperationText = {
  id: 'readNow',
  tag: 'State',
  summary: 'Read lag, queues, rates and alerts at once',
  answer: { description: 'As far as the stores answer.', content: { schema: Now } },
};
