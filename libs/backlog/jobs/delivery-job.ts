import { AttemptFacts, type EnvelopeRecord } from '@relay/events';
import { z } from 'zod';

/**
 * A queued delivery: ids, its place in the schedule and the envelope's own text. URL and credential are read when the attempt
 * is made, so a job never holds a credential, and an update of the webhook applies to queued deliveries. A valid envelope is
 * UTF-8 without a byte order mark, so its text and its bytes are equivalent.
 */
export const DeliveryJob = z.object({
  /** Format of this record; a worker puts a job of an unknown, newer format back. */
  v: z.literal(1),
  webhookId: z.string(),
  partnerId: z.string(),
  envelopeId: z.string(),
  eventType: z.string(),
  /** Content hash, 16 hex characters. */
  hash: z.string(),
  /**
   * 0 before any replay, see `Delivery`. It is part of the job's id, with the time of acceptance, so that no id is used twice.
   */
  series: z.number().int().min(0),
  /** Attempts made in this series. */
  attempts: z.number().int().min(0),
  /** Its due time is its turn at an origin that has never answered 2xx, so it asks for none. */
  hasTurn: z.literal(true).optional(),
  /** Epoch milliseconds: when the relay accepted the envelope, or when it was replayed. */
  acceptedAt: z.number(),
  /** Time when the relay accepted the envelope, if `acceptedAt` is later: it waited in the log, was replayed or recovered. */
  waitedSince: z.number().optional(),
  traceparent: z.string().optional(),
  /** Outcome of the last attempt, in words. */
  lastFailure: z.string().optional(),
  /** All attempts, those before a replay included, for the delivery history. */
  tries: z.array(AttemptFacts).optional(),
  body: z.string(),
});
export type DeliveryJob = z.infer<typeof DeliveryJob>;

/** The job of a delivery before its first attempt, made of an envelope as the log holds it. */
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

/** Largest body in bytes that its job keeps; a larger one is stored once for all jobs of its envelope. */
export const INLINE_BYTES = 4_096;

/**
 * Members of a job or dead letter whose body is stored elsewhere (`JobBodies`). `bodyRef` names the reference of this job to the
 * body. It is new with each add, so that dropping the reference of an ended job never takes the body from a job that was added
 * again meanwhile.
 */
export const withBodyAside = { v: z.literal(2), bodyRef: z.string() };
export const StoredJob = z.union([DeliveryJob, DeliveryJob.omit({ v: true, body: true }).extend(withBodyAside)]);
export type StoredJob = z.infer<typeof StoredJob>;

/** The job without its body, and the reference to it. */
export type Aside<T extends DeliveryJob> = Omit<T, 'v' | 'body'> & { v: 2; bodyRef: string };

/** A delivery and the time of its attempt in epoch milliseconds. */
export interface QueuedDelivery {
  job: DeliveryJob;
  at: number;
}
