import { z } from 'zod';
import type { NoticeType } from './notice-type.js';

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
const reason = (meaning: string): z.ZodString => z.string().describe(`${meaning}, as in \`disabledReason\`.`);

/** What a notice says besides its webhook, the time and the words. */
const FACTS = {
  'webhook.failing': {
    failingSince: time('Since when every attempt fails.'),
    percent: count('How much of the five days is over: 50, 70 or 90.'),
  },
  'webhook.disabled': { reason: reason('Why it is disabled') },
  'webhook.enabled': { disabledReason: reason('Why it was disabled') },
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

/** The payloads of the notices by event type. Further members may follow. */
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
