import { StatusFilter } from '@relay/events';
import { EventTypeName, WebhookId } from '@relay/webhooks';
import { z } from 'zod';
import { pageLimit } from '../webhooks/listings.js';
import { CURSOR, DELIVERY_STATUSES } from './delivery-facts.js';

const MAX_IDS = 100;
const UUID = '[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}';
const moment = z.iso.datetime({ offset: true });

const Cursor = z.string().regex(CURSOR, 'a cursor comes from the page before').optional();

const AnsweredStatus = StatusFilter.optional().describe(
  'Only deliveries whose last attempt was answered so: a status such as `503`, or a class such as `5xx`.',
);

const FailureKind = z
  .string()
  .regex(/^[a-z][a-z-]{0,31}$/, 'a kind of failure such as timeout is expected')
  .optional()
  .describe('Only deliveries whose last attempt failed so without an answer: `timeout`, `dns`, `tls`, `refused` …');

/** Strict, as all filters: one that is written wrong would select all. */
export const HistoryQuery = z.strictObject({
  status: z.enum(DELIVERY_STATUSES).optional().describe('Only deliveries that stand so.'),
  since: moment.optional().describe('Only those with an `at` of this time or later.'),
  until: moment.optional().describe('Only those with an `at` before this time.'),
  limit: pageLimit(200, /^(?:[1-9]\d?|1\d\d|200)$/, 50),
  cursor: Cursor.describe('Where the page begins; out of the Link header of the page before.'),
});
export type HistoryQuery = z.infer<typeof HistoryQuery>;

export const DeliveriesQuery = z.strictObject({
  ...HistoryQuery.shape,
  webhookId: z
    .string()
    .regex(
      new RegExp(`^${UUID}(?:,${UUID}){0,${MAX_IDS - 1}}$`),
      `ids of up to ${MAX_IDS} webhooks, with commas between them, are expected`,
    )
    .transform((ids) => ids.toLowerCase().split(','))
    .optional()
    .describe(`Only to these webhooks: up to ${MAX_IDS} ids with commas between them.`),
  eventType: EventTypeName.optional().describe('Only to webhooks of this event type.'),
  httpStatus: AnsweredStatus,
  error: FailureKind,
});
export type DeliveriesQuery = z.infer<typeof DeliveriesQuery>;

export const EnvelopeId = z.guid().toLowerCase().describe('Identifier of the envelope: what came as `webhook-id`.');

/** Strict, as all orders: a filter that is written wrong would select all. */
export const RetryRequest = z
  .strictObject(
    { webhookId: WebhookId.optional().describe('Only to this webhook; to all of yours without.') },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys' ? 'is not known here; webhookId names one webhook' : undefined,
    },
  )
  .meta({ id: 'RetryRequest', description: 'Which deliveries are to be tried now. No member is required.' });
export type RetryRequest = z.infer<typeof RetryRequest>;

export const RetryAnswer = z
  .object({ retried: z.int().describe('Deliveries that are due now; each is attempted when its endpoint has room.') })
  .meta({ id: 'RetryAnswer' });
export type RetryAnswer = z.infer<typeof RetryAnswer>;

export const RetrySelection = z
  .strictObject({
    status: z.enum(['waiting', 'dead']).describe('`waiting`: attempt them now; `dead`: start their schedule again.'),
    webhookIds: z.array(WebhookId).min(1).max(100).optional().describe('Only to these webhooks; to all without.'),
    eventType: EventTypeName.optional().describe('Only to webhooks of this event type.'),
    since: moment.optional().describe('Only those with an `at` of this time or later.'),
    until: moment.optional().describe('Only those with an `at` before this time.'),
    httpStatus: AnsweredStatus,
    error: FailureKind,
    dryRun: z.boolean().default(false).describe('Only count them.'),
    cursor: Cursor.describe('The `cursor` of the answer before; the first call has none.'),
  })
  .meta({ id: 'RetrySelection', description: 'Which deliveries are to be tried now.' });
export type RetrySelection = z.infer<typeof RetrySelection>;

export const SelectionRetried = z
  .object({
    matched: z.int().describe('Deliveries that this call found: up to 100, or up to 1,000 in a dry run.'),
    retried: z.int().describe('Those that are due now; each is attempted when its endpoint has room.'),
    refused: z
      .array(z.object({ envelopeId: z.string(), webhookId: z.string(), why: z.string() }))
      .describe('Those that stay as they are. One that ended or began an attempt meanwhile is in neither.'),
    until: z.iso
      .datetime()
      .describe(
        'The `until` of the request, else the time of it: with this one, later calls retry nothing that came since.',
      ),
    cursor: z.string().nullable().describe('For the next call with the same members; `null` if nothing is left.'),
  })
  .meta({ id: 'SelectionRetried', description: 'What a call did with the newest of the selected deliveries.' });
export type SelectionRetried = z.infer<typeof SelectionRetried>;

/** Its payload is what its source wrote: a newer relay may have accepted what this one does not know. */
export const SentEnvelope = z
  .looseObject({ id: z.guid(), type: z.string(), payload: z.unknown() })
  .meta({ id: 'SentEnvelope', description: 'An envelope as its source sent it.' });
