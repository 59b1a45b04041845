import { parseDeliveryId } from '@relay/delivery';
import type { DeadLetter } from './dead-letter.js';

/** Which dead letters are meant; absent members say nothing. */
export interface LetterFilter {
  readonly type?: string;
  readonly reason?: string;
  readonly webhook?: string;
}

export const isEmpty = ({ type, reason, webhook }: LetterFilter): boolean =>
  type === undefined && reason === undefined && webhook === undefined;

export const matches = (
  letter: Pick<DeadLetter, 'eventType' | 'reason' | 'webhookId'>,
  { type, reason, webhook }: LetterFilter,
): boolean =>
  (type === undefined || letter.eventType === type) &&
  (reason === undefined || letter.reason === reason) &&
  (webhook === undefined || letter.webhookId === webhook.toLowerCase());

/** The ids by which an operator can mean this letter: that of its delivery, and that of its envelope. */
export function namesOf(letterId: string): string[] {
  const envelopeId = parseDeliveryId(letterId)?.envelopeId;
  return envelopeId === undefined ? [letterId] : [letterId, envelopeId];
}
