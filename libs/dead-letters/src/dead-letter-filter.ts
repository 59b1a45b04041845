import { parseDeliveryId } from '@relay/delivery';
import type { DeadLetter } from './dead-letter.js';

/** Selects dead letters by these members; absent members select all. */
export interface DeadLetterFilter {
  readonly type?: string;
  readonly reason?: string;
  readonly webhook?: string;
  /** Only those given up before this time, in epoch milliseconds: what is counted and changed is the same then. */
  readonly until?: number;
}

export const isEmpty = ({ type, reason, webhook }: DeadLetterFilter): boolean =>
  type === undefined && reason === undefined && webhook === undefined;

export const matches = (
  letter: Pick<DeadLetter, 'eventType' | 'reason' | 'webhookId' | 'diedAt'>,
  { type, reason, webhook, until = Infinity }: DeadLetterFilter,
): boolean =>
  letter.diedAt < until &&
  (type === undefined || letter.eventType === type) &&
  (reason === undefined || letter.reason === reason) &&
  (webhook === undefined || letter.webhookId === webhook.toLowerCase());

/** The ids by which an operator can select this dead letter: its own, and that of its envelope. */
export function namesOf(letterId: string): string[] {
  const envelopeId = parseDeliveryId(letterId)?.envelopeId;
  return envelopeId === undefined ? [letterId] : [letterId, envelopeId];
}
