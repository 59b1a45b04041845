import type { NoticeFacts } from './notice.js';
import type { NoticeType } from './notice-type.js';

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

/** A notice in words. */
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

/** A payload of a notice, for documents and test deliveries. */
export const exampleNotice = <T extends NoticeType>(type: T) => ({
  ...ABOUT,
  message: noticeText(type, EXAMPLES[type]),
  ...EXAMPLES[type],
});
