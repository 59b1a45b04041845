import { StatusFilter } from '@relay/events';
import { EventTypeName } from '@relay/webhooks';
import { z } from 'zod';
import { DELIVERY_STATUSES } from './delivery-facts.js';
import { CURSOR } from './delivery-place.js';

const MAX_LIMIT = 200;
const MAX_IDS = 100;
const UUID = '[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}';
const moment = z.iso.datetime({ offset: true });

export const Cursor = z.string().regex(CURSOR, 'a cursor comes from the page before').optional();

export const AnsweredStatus = StatusFilter.optional().describe(
  'Only deliveries whose last attempt was answered so: a status such as `503`, or a class such as `5xx`.',
);

export const FailureKind = z
  .string()
  .regex(/^[a-z][a-z-]{0,31}$/, 'a kind of failure such as timeout is expected')
  .optional()
  .describe('Only deliveries whose last attempt failed so without an answer: `timeout`, `dns`, `tls`, `refused` …');

/** Strict, as all filters: one that is written wrong would select all. */
export const HistoryQuery = z.strictObject({
  status: z.enum(DELIVERY_STATUSES).optional().describe('Only deliveries that stand so.'),
  since: moment.optional().describe('Only those with an `at` of this time or later.'),
  until: moment.optional().describe('Only those with an `at` before this time.'),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|1\d\d|200)$/, `a number from 1 to ${MAX_LIMIT} is expected`)
    .transform(Number)
    .default(50)
    .describe(`Longest page: 1 to ${MAX_LIMIT}.`),
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
