import type { OperationText } from '@relay/openapi';
import { z } from 'zod';

const tag = 'Session';

export const readHome: OperationText = {
  id: 'readHome',
  tag,
  summary: 'The console',
  description: 'The page for operators. Whatever it shows or does is a call of this API.',
  answer: { description: 'The page.', mediaType: 'text/html', content: { schema: z.string() } },
  problems: ['not-found'],
};

export const readPageFile: OperationText = {
  id: 'readPageFile',
  tag,
  summary: 'A file of the console',
  path: { name: { schema: z.string().max(100).describe('As the page names it.'), example: 'main-5F2KQ7ZD.js' } },
  answer: { description: 'Its bytes.', mediaType: 'text/javascript', content: { schema: z.string() } },
  problems: ['not-found'],
};
