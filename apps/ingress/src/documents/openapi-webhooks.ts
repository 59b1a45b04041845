import { deliveryHeaders, Envelope, EVENT_TYPES } from '@relay/events';
import { exampleOf } from './example-envelope.js';
import { membersOf } from './parameters.js';
import type { Schema, SchemaBook } from './schema-book.js';

/** What a partner's endpoint receives, by event type, and what its answers mean. */
export function deliveryWebhooks(book: SchemaBook): Schema {
  const envelope = book.of(Envelope, 'input');
  const parameters = membersOf('header', deliveryHeaders, book);
  return Object.fromEntries(
    EVENT_TYPES.map((type) => [
      type,
      {
        post: {
          operationId: `receive_${type.replace('.', '_')}`,
          tags: ['Webhooks'],
          summary: `Delivery of ${type}`,
          description:
            'The envelope as its source sent it, byte for byte the same on every attempt. It can come more than once, with the same `webhook-id`. The credential that was registered comes as `x-api-key` or `authorization`.',
          security: [],
          parameters,
          requestBody: {
            required: true,
            content: { 'application/json': { schema: envelope, example: exampleOf(type) } },
          },
          responses: ANSWERS,
        },
      },
    ]),
  );
}

const ANSWERS = {
  '2XX': { description: 'Delivered. The body is not read.' },
  '410': { description: 'Never again: the webhook is disabled.' },
  '429': {
    description: 'Not now: nothing is sent to the whole endpoint for as long as `Retry-After` says, 24 h at most.',
  },
  '503': { description: 'As 429.' },
  default: {
    description:
      'Failed, as are redirections, time-outs (15 s) and broken connections; repeated on the retry schedule.',
  },
};
