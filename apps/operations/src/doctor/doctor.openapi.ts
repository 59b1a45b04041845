import type { OperationText } from '@relay/openapi';
import { Findings } from './doctor-answers.js';

export const readFindings: OperationText = {
  id: 'readFindings',
  tag: 'State',
  summary: 'Examine Redis, Kafka and the keys',
  description: 'As `relay doctor` does; it changes nothing. Requests at the same time share one examination.',
  answer: { description: 'Every finding, with its fix.', content: { schema: Findings } },
};
