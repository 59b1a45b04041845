import { AttemptFacts, type EnvelopeRecord } from '@relay/events';
import { z } from 'zod';

/**
 * What a queued delivery carries: ids, its place in the schedule and the envelope's own text. Never a credential: URL
 * and credential are read when the attempt is made, so an update of the webhook takes effect on what waits. A valid
 * envelope is valid UTF-8 without a byte order mark, so its text and its bytes are the same thing.
 */
export const DeliveryJob = z.object({
  /** Format of this record; a worker puts back a newer one it does not know. */
  v: z.literal(1),
  webhookId: z.string(),
  partnerId: z.string(),
  envelopeId: z.string(),
  eventType: z.string(),
  /** Content hash, 16 hex characters. */
  hash: z.string(),
  /** Counts replays; part of the job's id, so that no id is ever used twice. */
  series: z.number().int().min(0),
  /** Attempts made in this series. */
  attempts: z.number().int().min(0),
  /** Milliseconds since the epoch when the relay accepted the envelope (or an operator replayed it). */
  acceptedAt: z.number(),
  /** When the relay accepted the envelope, where that was before: its time began with its first attempt, after it had waited in the log. */
  waitedSince: z.number().optional(),
  traceparent: z.string().optional(),
  /** What the last attempt showed, in words. */
  lastFailure: z.string().optional(),
  /** The attempts made, those of earlier series included, for who asks what became of it. */
  tries: z.array(AttemptFacts).optional(),
  body: z.string(),
});
export type DeliveryJob = z.infer<typeof DeliveryJob>;

/** The job of a delivery that was not attempted yet, of an envelope as it was read from the log; its series is 0 but for a replay. */
export const newJob = (
  webhook: { readonly id: string; readonly partnerId: string },
  { envelope, acceptedAt, waitedSince, traceparent }: Omit<EnvelopeRecord, 'kind' | 'record'>,
  series = 0,
): DeliveryJob => ({
  v: 1,
  webhookId: webhook.id,
  partnerId: webhook.partnerId,
  envelopeId: envelope.id,
  eventType: envelope.type,
  hash: envelope.contentHash,
  series,
  attempts: 0,
  acceptedAt,
  ...(waitedSince === undefined ? {} : { waitedSince }),
  ...(traceparent === undefined ? {} : { traceparent }),
  body: envelope.bytes.toString('utf8'),
});

/** Stands for the webhook in the id of a dead letter that belongs to a whole envelope. */
export const NO_WEBHOOK = '-';
