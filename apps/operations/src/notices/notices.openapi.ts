import { NOTICE_TYPES } from '@relay/events';
import type { OperationText } from '@relay/openapi';
import { AddedNotices, NewNotices } from './notice-request.js';

export const addNotices: OperationText = {
  id: 'addNotices',
  tag: 'Webhooks',
  summary: "Send the notices about all partners' webhooks to an address",
  description: 'The webhooks belong to `operators`; `DELETE /webhooks/{id}` ends one.',
  body: {
    isRequired: true,
    schema: NewNotices,
    example: { url: 'https://ops.example/relay', types: [NOTICE_TYPES[0]] },
  },
  answer: { description: 'The added webhooks.', content: { schema: AddedNotices } },
};
