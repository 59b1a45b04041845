import type { FoundDeadLetter } from './dead-letter-reader.adapter.js';

const timeOf = (at: number): string => new Date(at).toISOString();

/** A letter as it is shown in lists: without the body, which is the envelope, and its source has that. */
export const letterFacts = ({ id, stored: letter }: FoundDeadLetter) => ({
  id,
  envelopeId: letter.envelopeId,
  webhookId: letter.webhookId,
  partnerId: letter.partnerId,
  eventType: letter.eventType,
  reason: letter.reason,
  lastFailure: letter.lastFailure,
  attempts: letter.attempts,
  series: letter.series,
  acceptedAt: timeOf(letter.acceptedAt),
  diedAt: timeOf(letter.diedAt),
});

export type LetterFacts = ReturnType<typeof letterFacts>;
