import { parseDeliveryId } from '@relay/delivery';
import type { DeadLetter } from '@relay/retry';

/** Which dead letters are meant; absent members say nothing. */
export interface LetterFilter {
  readonly type?: string;
  readonly reason?: string;
  readonly webhook?: string;
}

export const isEmpty = ({ type, reason, webhook }: LetterFilter): boolean =>
  type === undefined && reason === undefined && webhook === undefined;

export const matches = (letter: DeadLetter, { type, reason, webhook }: LetterFilter): boolean =>
  (type === undefined || letter.eventType === type) &&
  (reason === undefined || letter.reason === reason) &&
  (webhook === undefined || letter.webhookId === webhook.toLowerCase());

/** Whether an id given by an operator means this letter: its delivery id, or the id of its envelope. */
export function isNamed(letterId: string, given: ReadonlySet<string>): boolean {
  const envelopeId = parseDeliveryId(letterId)?.envelopeId;
  return given.has(letterId) || (envelopeId !== undefined && given.has(envelopeId));
}
