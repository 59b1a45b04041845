import { shownAttempt } from '@relay/events';
import type { FoundDeadLetter } from './dead-letter-reader.adapter.js';

const timeOf = (at: number): string => new Date(at).toISOString();

/** A dead letter as lists show it: without its body, the envelope, which its source has. */
export const deadLetterFacts = ({ id, stored: { tries: [...tries] = [], ...letter } }: FoundDeadLetter) => ({
  id,
  envelopeId: letter.envelopeId,
  webhookId: letter.webhookId,
  partnerId: letter.partnerId,
  eventType: letter.eventType,
  reason: letter.reason,
  lastFailure: letter.lastFailure,
  lastAttempt: tries.map(shownAttempt).at(-1),
  attempts: letter.attempts,
  series: letter.series,
  acceptedAt: timeOf(letter.acceptedAt),
  diedAt: timeOf(letter.diedAt),
});

export type DeadLetterFacts = ReturnType<typeof deadLetterFacts>;
