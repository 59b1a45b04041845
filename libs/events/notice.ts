import { z } from 'zod';
import type { NoticeType } from './event-type.js';

const about = {
  id: z.guid().describe('Identifier of the webhook that the notice is about.'),
  partnerId: z.string().describe('Client id of its partner.'),
  eventType: z.string().describe('Event type of that webhook.'),
  origin: z.string().describe('Scheme, host and port of its address.'),
  at: z.iso.datetime().describe('When it happened.'),
  message: z.string().describe('What happened and what follows, in words.'),
};

const count = (meaning: string): z.ZodInt => z.int().min(0).describe(meaning);
const time = (meaning: string): z.ZodISODateTime => z.iso.datetime().describe(meaning);
const reasonOf = (meaning: string): z.ZodString => z.string().describe(`${meaning}, as in \`disabledReason\`.`);

/** Members that a notice has in addition to those in `about`. */
const FACTS = {
  'webhook.failing': {
    failingSince: time('Since when every attempt fails.'),
    percent: count('How much of the five days is over: 50, 70 or 90.'),
  },
  'webhook.disabled': { reason: reasonOf('Why it is disabled') },
  'webhook.enabled': { disabledReason: reasonOf('Why it was disabled') },
  'webhook.parked': { waiting: count('Its deliveries in the queue.') },
  'deliveries.expiring': { expiresFrom: time('From when on the oldest of them can be gone.') },
  'replay.finished': {
    replayId: z.guid().describe('Identifier of the replay.'),
    state: z.enum(['done', 'cancelled']),
    matched: count('Its deliveries.'),
    done: count('Those delivered at once.'),
    failed: count('Those queued for a retry, or dead letters.'),
  },
  'secret.rotated': { oldSecretUntil: time('Until when the former secret signs as well.') },
} satisfies Record<NoticeType, z.ZodRawShape>;
export type NoticeFacts<T extends NoticeType> = z.infer<z.ZodObject<(typeof FACTS)[T]>>;

const payload = <S extends z.ZodRawShape>(id: string, facts: S) => z.looseObject({ ...about, ...facts }).meta({ id });

/** The payloads of the notices by event type. Later releases may add members. */
export const NOTICE_PAYLOADS = {
  'webhook.failing': payload('WebhookFailing', FACTS['webhook.failing']),
  'webhook.disabled': payload('WebhookDisabled', FACTS['webhook.disabled']),
  'webhook.enabled': payload('WebhookEnabled', FACTS['webhook.enabled']),
  'webhook.parked': payload('WebhookParked', FACTS['webhook.parked']),
  'deliveries.expiring': payload('DeliveriesExpiring', FACTS['deliveries.expiring']),
  'replay.finished': payload('ReplayFinished', FACTS['replay.finished']),
  'secret.rotated': payload('SecretRotated', FACTS['secret.rotated']),
} satisfies Record<NoticeType, z.ZodObject>;

const of = <T extends NoticeType>(type: T) =>
  z.strictObject({ id: z.guid(), type: z.literal(type), payload: NOTICE_PAYLOADS[type] });

export const Notice = z
  .discriminatedUnion('type', [
    of('webhook.failing'),
    of('webhook.disabled'),
    of('webhook.enabled'),
    of('webhook.parked'),
    of('deliveries.expiring'),
    of('replay.finished'),
    of('secret.rotated'),
  ])
  .meta({ id: 'Notice', description: 'An envelope of the relay itself, about one of the webhooks of a partner.' });

export type Notice = z.infer<typeof Notice>;

const REASONS: Readonly<Record<string, string>> = {
  gone: 'its endpoint answered 410',
  failing: 'every attempt of five days has failed',
  operator: 'an operator disabled it',
  partner: 'its partner disabled it',
  unverified: 'its endpoint has not answered a test delivery with 2xx yet',
};

const TEXTS: { readonly [T in NoticeType]: (facts: NoticeFacts<T>) => string } = {
  'webhook.failing': ({ failingSince, percent }) =>
    `Every attempt has failed since ${failingSince}. Five days of nothing but failures disable the webhook, and ${percent} % of them are over: repair the endpoint.`,
  'webhook.disabled': ({ reason }) =>
    `The webhook is disabled: ${REASONS[reason] ?? reason}. Its deliveries wait, at most 7 days, until it is enabled.`,
  'webhook.enabled': ({ disabledReason }) =>
    `The webhook is active again. It was disabled: ${REASONS[disabledReason] ?? disabledReason}. Deliveries that wait follow.`,
  'webhook.parked': ({ waiting }) =>
    `The endpoint takes less than is sent: ${waiting} deliveries are queued, and further ones wait in the log, at most 7 days, until it answers again.`,
  'deliveries.expiring': ({ expiresFrom }) =>
    `Deliveries wait for this webhook, and from ${expiresFrom} on the oldest of them can be gone: repair the endpoint, or enable the webhook.`,
  'replay.finished': ({ state, matched, done, failed }) =>
    `The replay ${state === 'done' ? 'is done' : 'was cancelled'}. Of ${matched} deliveries, ${done} arrived at once and ${failed} failed; failed ones are retried.`,
  'secret.rotated': ({ oldSecretUntil }) =>
    `The webhook has a new signing secret. The former one signs as well until ${oldSecretUntil}.`,
};

export const noticeText = <T extends NoticeType>(type: T, facts: NoticeFacts<T>): string => TEXTS[type](facts);

const ABOUT = {
  id: '7c2d4e6f-1a3b-4c5d-8e9f-0a1b2c3d4e5f',
  partnerId: 'partner_0Zt1',
  eventType: 'task.created',
  origin: 'https://partner.example',
  at: '2026-11-25T12:00:00.000Z',
};

const EXAMPLES: { readonly [T in NoticeType]: NoticeFacts<T> } = {
  'webhook.failing': { failingSince: '2026-11-23T00:00:00.000Z', percent: 50 },
  'webhook.disabled': { reason: 'gone' },
  'webhook.enabled': { disabledReason: 'gone' },
  'webhook.parked': { waiting: 1_000 },
  'deliveries.expiring': { expiresFrom: '2026-11-27T12:00:00.000Z' },
  'replay.finished': {
    replayId: '2b4c6d8e-0f1a-4b3c-9d5e-7f8a9b0c1d2e',
    state: 'done',
    matched: 120,
    done: 118,
    failed: 2,
  },
  'secret.rotated': { oldSecretUntil: '2026-11-26T12:00:00.000Z' },
};

/** Returns an example payload of a notice, for documents and test deliveries. */
export const exampleNotice = <T extends NoticeType>(type: T) => ({
  ...ABOUT,
  message: noticeText(type, EXAMPLES[type]),
  ...EXAMPLES[type],
});
