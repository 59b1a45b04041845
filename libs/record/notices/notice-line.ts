import { hash } from 'node:crypto';
import { type NoticeFacts, noticeText, type NoticeType } from '@relay/events';

export interface NoticeSubject {
  readonly id: string;
  readonly partnerId: string;
  readonly eventType: string;
  readonly origin: string;
}

/** Content of a line; the script that applies changes of webhooks writes the same. */
export interface NoticeLine {
  /** When it happened, in epoch milliseconds. */
  readonly at: number;
  readonly type: NoticeType;
  readonly webhook: NoticeSubject;
  readonly facts: object;
  /** The beginning of the hour for which it has waited. */
  readonly after?: number;
}

export function lineOf<T extends NoticeType>(
  type: T,
  { id, partnerId, eventType, origin }: NoticeSubject,
  facts: NoticeFacts<T>,
  at: number,
): string {
  return `${at} ${JSON.stringify({ type, webhook: { id, partnerId, eventType, origin }, facts })}`;
}

/** Returns undefined for a text that is no line of the relay. */
export function readLine(text: string): NoticeLine | undefined {
  const space = text.indexOf(' ');
  try {
    return { ...(JSON.parse(text.slice(space + 1)) as NoticeLine), at: Number(text.slice(0, space)) };
  } catch {
    return undefined;
  }
}

/** The payload of the notice. A script tells times in milliseconds. */
export function payloadOf({ at, type, webhook, facts: told }: NoticeLine): object {
  const facts = Object.fromEntries(
    Object.entries(told).map(([name, value]) => [
      name,
      name === 'oldSecretUntil' && typeof value === 'number' ? new Date(value).toISOString() : (value as unknown),
    ]),
  ) as NoticeFacts<typeof type>;
  return { ...webhook, at: new Date(at).toISOString(), message: noticeText(type, facts), ...facts };
}

export const HOUR_MS = 3_600_000;

/**
 * The kinds whose last fact counts, with what they are the state of: a further one of an hour waits for the next hour, in the
 * place of one that waits already. Others are told with the first facts of an hour.
 */
export const STATE_OF: Readonly<Partial<Record<NoticeType, string>>> = {
  'webhook.disabled': 'webhook',
  'webhook.enabled': 'webhook',
  'replay.finished': 'replay',
  'secret.rotated': 'secret',
};

/**
 * A UUID (RFC 9562 version 8) that any process finds for the same kind, webhook and hour, so that the seen marks make several
 * notices of an hour one. @param at epoch milliseconds
 */
export function noticeId(type: NoticeType, webhookId: string, at: number): string {
  const hex = hash('sha256', `${type} ${webhookId} ${Math.floor(at / HOUR_MS)}`, 'hex');
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
