import { deliveryHeaders, ENVELOPE_TYPES, Envelope, isNoticeType, Notice } from '@relay/events';
import { exampleOf } from './example-envelope.js';
import { membersOf } from '@relay/openapi';
import type { Schema, SchemaBook } from '@relay/openapi';

/** What a partner's endpoint receives, by event type, and the parts that all of them share. */
export function deliveryWebhooks(book: SchemaBook): { webhooks: Schema; parameters: Schema; responses: Schema } {
  const envelope = book.of(Envelope, 'input');
  const notice = book.of(Notice, 'input');
  const headers = membersOf('header', deliveryHeaders, book);
  const webhooks = ENVELOPE_TYPES.map((type) => [
    type,
    {
      post: {
        operationId: `receive_${type.replace('.', '_')}`,
        tags: ['Webhooks'],
        summary: `Delivery of ${type}`,
        description: `${isNoticeType(type) ? 'An envelope of the relay itself' : 'The envelope as its source sent it'}, byte for byte the same on every attempt. It can arrive more than once, with the same \`webhook-id\`. The registered credential is sent as \`x-api-key\` or \`authorization\`.`,
        security: [],
        parameters: headers.map(({ name }) => ({ $ref: `#/components/parameters/${String(name)}` })),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: isNoticeType(type) ? notice : envelope, example: exampleOf(type) } },
        },
        responses: Object.fromEntries(
          Object.keys(ANSWERS).map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]),
        ),
      },
    },
  ]);
  return {
    webhooks: Object.fromEntries(webhooks),
    parameters: Object.fromEntries(headers.map((header) => [header['name'], header])),
    responses: Object.fromEntries(Object.entries(ANSWERS).map(([status, answer]) => [nameOf(status), answer])),
  };
}

/** Such as `Endpoint410`. */
const nameOf = (status: string): string => `Endpoint${status}`;

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
