import { StatusFilter } from '@relay/events';
import { HourCounts, periodOfCounts } from '@relay/history';
import { answerOf, listOf, operationsOf } from '@relay/openapi';
import { ClueQuery } from '@relay/story';
import { EventTypeName, WebhookId } from '@relay/webhooks';
import { z } from 'zod';
import { pageLimit } from '../webhooks/listings.js';
import { CURSOR, DELIVERY_STATUSES, DeliveryAnswers } from './delivery-lists.js';
import { PartnerStory } from './partner-stories.js';
import { StatesQuery, WebhookStatesAnswer } from './own-webhooks.js';

const MAX_IDS = 100;
const UUID = '[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}';
const moment = z.iso.datetime({ offset: true });

const Cursor = z.string().regex(CURSOR, 'a cursor comes from the page before').optional();

const period = {
  since: moment.optional().describe('Only those with an `at` of this time or later.'),
  until: moment.optional().describe('Only those with an `at` before this time.'),
};

const lastAttempt = {
  httpStatus: StatusFilter.optional().describe(
    'Only deliveries whose last attempt was answered so: a status such as `503`, or a class such as `5xx`.',
  ),
  error: z
    .string()
    .regex(/^[a-z][a-z-]{0,31}$/, 'a kind of failure such as timeout is expected')
    .optional()
    .describe('Only deliveries whose last attempt failed so without an answer: `timeout`, `dns`, `tls`, `refused` …'),
};

/** The query is strict. Otherwise a misspelled filter would be ignored, and the query would select all deliveries. */
export const HistoryQuery = z.strictObject({
  status: z.enum(DELIVERY_STATUSES).optional().describe('Only deliveries that stand so.'),
  ...period,
  limit: pageLimit(200, /^(?:[1-9]\d?|1\d\d|200)$/, 50),
  cursor: Cursor.describe('Where the page begins; out of the Link header of the page before.'),
});

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
  ...lastAttempt,
});
export type DeliveriesQuery = z.infer<typeof DeliveriesQuery>;
export const DeliveryCountsQuery = DeliveriesQuery.pick({ webhookId: true, eventType: true }).extend(periodOfCounts);

export const EnvelopeId = z.guid().toLowerCase().describe('Identifier of the envelope: what came as `webhook-id`.');

/** The request is strict. Otherwise a misspelled filter would be ignored, and the request would select all deliveries. */
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
    ...period,
    ...lastAttempt,
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

/** The payload is not described, because a newer release may have accepted members that this release does not know. */
const SentEnvelope = z
  .looseObject({ id: z.guid(), type: z.string(), payload: z.unknown() })
  .meta({ id: 'SentEnvelope', description: 'An envelope as its source sent it.' });

const webhookId = '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d';
const [envelopeId, at] = ['5b0a7a7e-3b9b-4c1e-9a64-0d6f1a2b3c4d', '2030-01-01T10:00:00.000Z'];
const envelope = { envelopeId: { schema: EnvelopeId, example: envelopeId } };
const DELIVERIES = listOf('The deliveries, newest first.', DeliveryAnswers, {
  deliveries: [
    {
      envelopeId,
      webhookId,
      eventType: 'task.created',
      status: 'delivered',
      at: '2030-01-01T10:00:05.231Z',
      acceptedAt: '2030-01-01T10:00:00.012Z',
      series: 0,
      nextAttemptAt: null,
      waitsFor: null,
      reason: null,
      attempts: [
        { at: '2030-01-01T10:00:00.020Z', durationMs: 38, status: 500, detail: 'answered 500', answer: 'oops' },
        { at: '2030-01-01T10:00:05.190Z', durationMs: 41, status: 204 },
      ],
    },
  ],
});
const KEPT =
  'A successful delivery is kept for a day unless the operator says otherwise, and shown up to a second later; any other until it succeeds. Not listed are running first attempts, deliveries that wait in the log for a `parked` webhook, and waiting ones beyond 5,000 of a webhook. The order is that of `at`, which each attempt and each retry changes: what is retried during a walk moves to the front or leaves the filter. A second walk with `since` set to the beginning of the first one finds it.';

export const operations = operationsOf('Webhooks', {
  listDeliveries: {
    summary: 'List the deliveries of a webhook',
    description: KEPT,
    path: { id: { schema: WebhookId, example: webhookId } },
    query: HistoryQuery,
    answer: DELIVERIES,
    problems: ['not-found'],
  },
  listAllDeliveries: {
    summary: 'List the deliveries of all your webhooks',
    description: `${KEPT} A page looks at 1,000 deliveries at most: with \`httpStatus\` or \`error\` it may be short, even empty, and have a next one. The request counts as one for every hundred webhooks.`,
    query: DeliveriesQuery,
    answer: DELIVERIES,
    problems: ['not-found'],
  },
  countDeliveries: {
    summary: 'Count delivery attempts by the hour',
    description:
      'The sums over all your webhooks, or over those that are named. An attempt counts in the hour in which it ends. Counts are kept for a day unless the operator says otherwise; a crash can leave some out. The request counts as one for every hundred webhooks.',
    query: DeliveryCountsQuery,
    answer: answerOf('The counts.', HourCounts, { hours: [{ at, delivered: 120, failedAttempts: 3 }] }),
    problems: ['not-found'],
  },
  listWebhookStates: {
    summary: 'List your webhooks with how their deliveries stand',
    description: 'The request counts as one for every hundred webhooks.',
    query: StatesQuery,
    problems: ['not-found'],
    answer: listOf('The webhooks, oldest first.', WebhookStatesAnswer, {
      webhooks: [
        {
          id: webhookId,
          eventType: 'task.created',
          endPointUrl: 'https://partner.example/hooks/tasks',
          endPointName: 'tasks',
          status: 'active',
          disabledReason: null,
          waiting: 1,
          oldestWaitingAt: '2030-01-01T09:59:58.100Z',
          dead: 0,
          delivered: 99,
          failedAttempts: 1,
          failureRate: 0.01,
          lastDelivered: { envelopeId, at: '2030-01-01T10:00:05.231Z', status: 204, durationMs: 41 },
          lastGood: {
            at: '2030-01-01T09:55:00.120Z',
            durationMs: 37,
            status: 200,
            answer: 'stored',
            answerHeaders: { date: 'Tue, 01 Jan 2030 09:55:00 GMT', server: 'nginx' },
          },
          lastFailure: { at: '2030-01-01T10:00:00.020Z', durationMs: 38, status: 500, detail: 'answered 500' },
        },
      ],
    }),
  },
  readDeliveries: {
    summary: 'Read what became of an envelope at your webhooks',
    description:
      'Each webhook’s deliveries in order, each with its attempts: successful ones for a day unless the operator says otherwise, others until they succeed or are purged. An envelope that was never attempted, because its webhook is parked or disabled, is found with `type` and `around`. The request counts as three if the envelope is known, and as ten with `around`.',
    path: envelope,
    query: ClueQuery,
    answer: {
      description: 'Its story. `incomplete` names what is away, and is missing in it.',
      content: {
        schema: PartnerStory,
        example: {
          id: envelopeId,
          eventType: 'task.created',
          acceptedAt: '2030-01-01T10:00:00.012Z',
          mark: 'settled',
          repeats: { duplicates: 1, conflicts: 0 },
          deliveries: [
            {
              id: `${webhookId}_${envelopeId}_0123456789abcdef_0_1893492000012`,
              webhookId,
              host: 'partner.example',
              series: 0,
              replayId: null,
              acceptedAt: '2030-01-01T10:00:00.012Z',
              state: 'waiting',
              waitsFor: 'schedule',
              nextAttemptAt: '2030-01-01T10:00:05.531Z',
              reason: null,
              lastFailure: 'answered 503',
              attempts: [
                {
                  at: '2030-01-01T10:00:00.020Z',
                  attempt: 1,
                  durationMs: 38,
                  status: 503,
                  error: null,
                  detail: 'answered 503',
                  answer: 'no room',
                  answerHeaders: { server: 'nginx', 'retry-after': '5' },
                  timing: { reused: false, waitMs: 0, dnsMs: 3, connectMs: 9, tlsMs: 14, firstByteMs: 12 },
                  outcome: 'retry',
                  reason: null,
                  nextAt: '2030-01-01T10:00:05.531Z',
                },
              ],
            },
          ],
          incomplete: [],
        },
      },
    },
    problems: ['not-found', 'unavailable'],
  },
  readPayload: {
    summary: 'Read an envelope once more',
    description:
      'The relay has it while a delivery of it waits or is dead, and after that while the log keeps it: seven days unless the operator says otherwise. The request counts as ten.',
    path: envelope,
    answer: {
      description: 'The bytes that the source sent and your endpoint gets.',
      content: {
        schema: SentEnvelope,
        example: { id: envelopeId, type: 'task.created', payload: { id: webhookId, amount: 1.1 } },
      },
    },
    problems: ['not-found'],
  },
  retryDeliveries: {
    summary: 'Try the deliveries of an envelope now',
    description:
      'A waiting delivery is attempted now and keeps its place in the schedule; a dead one starts the schedule again.',
    path: envelope,
    body: { isRequired: false, schema: RetryRequest, example: { webhookId } },
    answer: {
      description: 'They are due now; each is attempted when its endpoint has room.',
      content: { schema: RetryAnswer, example: { retried: 1 } },
    },
    problems: ['not-found', 'conflict', 'unavailable'],
  },
  retrySelection: {
    summary: 'Try many deliveries now',
    description:
      'Retries the newest 100 of the selected deliveries as `retryDeliveries` does, and answers a `cursor` for the others. With `dryRun` the relay only counts, 1,000 with each call. The request counts as one for every hundred webhooks and for every ten deliveries.',
    body: { isRequired: true, schema: RetrySelection, example: { status: 'dead', eventType: 'task.created' } },
    answer: {
      description: 'They are due now, or counted.',
      content: {
        schema: SelectionRetried,
        example: { matched: 7, retried: 7, refused: [], cursor: null, until: '2030-01-02T00:00:00.000Z' },
      },
    },
    problems: ['not-found'],
  },
});
