/** One accepted envelope on its way to one webhook: the parts of the id of its job, dead letter and attempts. */
export interface Delivery {
  /** UUID of the webhook, or `-` for an envelope's own dead letter, which belongs to no webhook. */
  readonly webhookId: string;
  /** UUID of the envelope, in lower case. */
  readonly envelopeId: string;
  /** Content hash, 16 hexadecimal characters. */
  readonly hash: string;
  /**
   * 0 before any replay, a multiple of 1,000 by a replay of a time, one more with each replay of the dead letter. BullMQ silently
   * ignores an add under an id that it holds, so no id is used twice.
   */
  readonly series: number;
  /**
   * Time when the relay accepted the envelope, in epoch milliseconds, as its record says: the same at each reading of the
   * record. An id that is sent again after `DEDUPE_WINDOW` is accepted again, while the first dead letter is kept for 30 days.
   */
  readonly acceptedAt: number;
}

/** A delivery as a job stores it. */
interface NamedDelivery extends Delivery {
  /** Time when the envelope was accepted, if `acceptedAt` is the later begin of its 96 h. */
  readonly waitedSince?: number | undefined;
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
/** Form of a delivery's id. */
export const DELIVERY_ID = new RegExp(
  `^(${UUID}|-)_(${UUID})_([0-9a-f]{16})_(0|[1-9][0-9]{0,14})_(0|-?[1-9][0-9]{0,18})$`,
);

/** Returns the delivery's id: `<webhookId>_<envelopeId>_<hash>_<series>_<acceptedAt>` (a BullMQ job id may hold no colon). */
export function deliveryId({
  webhookId,
  envelopeId,
  hash,
  series,
  acceptedAt,
  waitedSince = acceptedAt,
}: NamedDelivery): string {
  return `${webhookId}_${envelopeId}_${hash}_${series}_${waitedSince}`;
}

/** Returns the delivery that an id names; undefined if the text is no delivery id. */
export function parseDeliveryId(id: string): Delivery | undefined {
  const [, webhookId, envelopeId, hash, series, acceptedAt] = DELIVERY_ID.exec(id) ?? [];
  if (webhookId === undefined || envelopeId === undefined || hash === undefined) return undefined;
  return { webhookId, envelopeId, hash, series: Number(series), acceptedAt: Number(acceptedAt) };
}
