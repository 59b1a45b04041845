import { AttemptFacts, type EnvelopeRecord } from '@relay/events';
import { z } from 'zod';

/**
 * A queued delivery: its ids, the number of attempts made, and the text of the envelope. The URL and the credential are read
 * when an attempt is made, so a job never contains a credential, and an update of the webhook applies to queued deliveries
 * too. A valid envelope is UTF-8 without a byte order mark, so its text can be converted back to the same bytes.
 */
export const DeliveryJob = z.object({
  /** Format of this job. A worker that does not know a newer format puts the job back into the queue. */
  v: z.literal(1),
  webhookId: z.string(),
  partnerId: z.string(),
  envelopeId: z.string(),
  eventType: z.string(),
  /** Content hash, 16 hex characters. */
  hash: z.string(),
  /**
   * Replay number, 0 before any replay (see `Delivery`). Together with the time of acceptance it makes the id of each job
   * unique.
   */
  series: z.number().int().min(0),
  /** Number of attempts since the acceptance or since the replay. */
  attempts: z.number().int().min(0),
  /**
   * An origin that has never answered 2xx gets one attempt a second, and deliveries take turns at these attempts. True if
   * this job has such a turn and is due at the time of its turn. The job then needs no other turn.
   */
  hasTurn: z.literal(true).optional(),
  /** Epoch milliseconds at which the relay accepted the envelope, or at which the delivery was replayed. */
  acceptedAt: z.number(),
  /**
   * Epoch milliseconds at which the relay accepted the envelope. Set only if `acceptedAt` is later, because the delivery
   * waited in the log, was replayed, or was recovered.
   */
  waitedSince: z.number().optional(),
  traceparent: z.string().optional(),
  /** Description of the last failed attempt. */
  lastFailure: z.string().optional(),
  /** All attempts for the delivery history, including attempts before a replay. */
  tries: z.array(AttemptFacts).optional(),
  body: z.string(),
});
export type DeliveryJob = z.infer<typeof DeliveryJob>;

/** Returns the job of a delivery before its first attempt, from an envelope as it was read from the log. */
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

/** Webhook id of a dead letter that belongs to a whole envelope. */
export const NO_WEBHOOK = '-';

/** Largest body in bytes that is stored in the job itself. A larger body is stored once for all jobs of its envelope. */
export const INLINE_BYTES = 4_096;

/**
 * Members of a job or dead letter whose body is stored separately (see `JobBodies`). `bodyRef` names the reference from this
 * job to the body. Every add creates a new reference. If the same job is added again, dropping the reference of the ended
 * job therefore leaves the body for the new job.
 */
export const withBodyAside = { v: z.literal(2), bodyRef: z.string() };
export const StoredJob = z.union([DeliveryJob, DeliveryJob.omit({ v: true, body: true }).extend(withBodyAside)]);
export type StoredJob = z.infer<typeof StoredJob>;

/** A job with a reference to its body in place of the body. */
export type Aside<T extends DeliveryJob> = Omit<T, 'v' | 'body'> & { v: 2; bodyRef: string };

/** A delivery and the time of its attempt in epoch milliseconds. */
export interface QueuedDelivery {
  job: DeliveryJob;
  at: number;
}
