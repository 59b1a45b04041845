import { LINK, type OperationText } from '@relay/openapi';
import { AuditAnswer, AuditQuery } from './audit-answers.js';

export const readAudit: OperationText = {
  id: 'readAudit',
  tag: 'Audit',
  summary: 'The newest records of relay.operations',
  description:
    'A request looks at 5,000 records at most, so that an answer with few of them, or none, can have `before`: ask again with it.',
  query: AuditQuery,
  answer: { description: 'The records.', headers: LINK, content: { schema: AuditAnswer } },
};
