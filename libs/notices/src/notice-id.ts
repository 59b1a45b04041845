import { hash } from 'node:crypto';
import type { NoticeType } from '@relay/events';

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
