import { CloudEvent, Envelope, eventTypeName } from '@relay/events';
import { operationsOf } from '@relay/openapi';
import { z } from 'zod';
import { exampleOf } from '../documents/event-catalogue.js';

export const CLOUD_EVENT = 'application/cloudevents+json';
/** Media type of section 3.3 of the HTTP binding. */
export const CLOUD_EVENTS = 'application/cloudevents-batch+json';

export const Receipt = z
  .object({
    id: z.guid().describe("The envelope's id, in lower case."),
    type: eventTypeName('sendable'),
    status: z.enum(['accepted', 'duplicate']).describe('Stored now, or known with the same content already.'),
  })
  .meta({ id: 'Receipt', description: 'The log has the envelope.' });
export type Receipt = z.infer<typeof Receipt>;

export const BATCH_STATUSES = ['accepted', 'duplicate', 'conflict', 'invalid', 'unavailable'] as const;

export const BatchResult = z
  .object({
    id: z.string().nullable().describe('Null where none could be read.'),
    status: z
      .enum(BATCH_STATUSES)
      .describe('`conflict`: the id has other content. `unavailable`: send it again, it may be stored.'),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'BatchResult', description: 'What became of one envelope of a batch.' });
export type BatchResult = z.infer<typeof BatchResult>;

export const BatchAnswer = z
  .object({ results: z.array(BatchResult) })
  .meta({ id: 'BatchAnswer', description: 'One result for each envelope, in the order sent.' });
export type BatchAnswer = z.infer<typeof BatchAnswer>;

const example = exampleOf('task.created');
const event = { specversion: '1.0', id: example.id, source: '/core', type: example.type, data: example.payload };
const receipt = { id: example.id, type: example.type, status: 'accepted' };

const headers = z.object({
  'relay-partner': z
    .string()
    .regex(/^[\w-]{1,128}( *, *[\w-]{1,128})*$/)
    .optional()
    .describe('Client ids of the only partners it is for, joined by commas or in several headers.'),
  traceparent: z.string().optional().describe('W3C Trace Context; continued in Kafka and to the endpoint.'),
});

export const operations = operationsOf('Deliveries', {
  sendEnvelope: {
    summary: 'Send an envelope',
    description:
      'The answer is 202 once all in-sync replicas of Kafka have the envelope. The same `id` with the same content again is a `duplicate` and is not delivered again; with other content or audience the answer is 409. A CloudEvent 1.0 is accepted in structured mode (`application/cloudevents+json`) and in binary mode (`ce-specversion`, `ce-id`, `ce-source` and `ce-type`, with the data alone as the body): its `data` becomes the payload, byte for byte. In binary mode a missing content type means JSON.',
    headers,
    body: {
      isRequired: true,
      byType: {
        'application/json': { schema: Envelope, example },
        [CLOUD_EVENT]: { schema: CloudEvent, example: event },
      },
    },
    answer: { description: 'It is stored, now or before.', content: { schema: Receipt, example: receipt } },
    problems: ['conflict', 'type-not-permitted'],
  },
  sendBatch: {
    summary: 'Send up to 1,000 envelopes, 4 MiB together',
    description: 'A bad envelope does not affect the others: each has its own result, in the order sent.',
    headers,
    body: {
      isRequired: true,
      byType: {
        'application/json': { schema: z.array(Envelope).max(1_000), example: [example] },
        [CLOUD_EVENTS]: { schema: z.array(CloudEvent).max(1_000), example: [event] },
        'application/x-ndjson': {
          schema: z.string().describe('An envelope on each line.'),
          example: `${JSON.stringify(example)}\n`,
        },
      },
    },
    answer: {
      description: 'What became of each.',
      content: { schema: BatchAnswer, example: { results: [{ id: example.id, status: 'accepted' }] } },
    },
  },
});
