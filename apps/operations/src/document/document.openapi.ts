import type { OperationText } from '@relay/openapi';
import { z } from 'zod';

export const readOpenApi: OperationText = {
  id: 'readOpenApi',
  tag: 'State',
  summary: 'This document',
  answer: { description: 'The document.', content: { schema: z.looseObject({}) } },
};
