/**
 * One accepted envelope on its way to one webhook. These fields make up the id of its job, its dead letter and its attempts.
 */
export interface Delivery {
  /** UUID of the webhook; `-` for a dead letter of the envelope itself, which belongs to no webhook. */
  readonly webhookId: string;
  /** UUID of the envelope, in lower case. */
  readonly envelopeId: string;
  /** Content hash, 16 hexadecimal characters. */
  readonly hash: string;
  /**
   * 0 for the first delivery. A replay of a period uses a multiple of 1,000, and each replay of a dead letter adds 1. BullMQ
   * silently ignores a job whose id it already stores, so every replay needs an id of its own.
   */
  readonly series: number;
  /**
   * Time at which the relay accepted the envelope, in epoch milliseconds, from the envelope's record in the log. So it is
   * the same each time the record is read. It distinguishes an envelope id that is sent again after `DEDUPE_WINDOW`: the
   * envelope is then accepted again, while the dead letter of the first is kept for 30 days.
   */
  readonly acceptedAt: number;
}

/** A delivery as a job stores it. */
interface NamedDelivery extends Delivery {
  /**
   * Time at which the envelope was accepted. It is set only if `acceptedAt` is later, because the 96 h for attempts began
   * later.
   */
  readonly waitedSince?: number | undefined;
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
/** Pattern of a delivery's id. */
export const DELIVERY_ID = new RegExp(
  `^(${UUID}|-)_(${UUID})_([0-9a-f]{16})_(0|[1-9][0-9]{0,14})_(0|-?[1-9][0-9]{0,18})$`,
);

/**
 * Returns the delivery's id: `<webhookId>_<envelopeId>_<hash>_<series>_<acceptedAt>`. BullMQ allows no colon in a job id.
 */
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

/** Returns the parts of a delivery's id; undefined if the text is not such an id. */
export function parseDeliveryId(id: string): Delivery | undefined {
  const [, webhookId, envelopeId, hash, series, acceptedAt] = DELIVERY_ID.exec(id) ?? [];
  if (webhookId === undefined || envelopeId === undefined || hash === undefined) return undefined;
  return { webhookId, envelopeId, hash, series: Number(series), acceptedAt: Number(acceptedAt) };
}
