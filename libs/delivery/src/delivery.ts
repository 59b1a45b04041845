/** One envelope on its way to one webhook: the parts of the id of its job, marks and attempts. */
export interface Delivery {
  /** UUID of the webhook, or `-` for an envelope's own dead letter, which belongs to no webhook. */
  readonly webhookId: string;
  /** UUID of the envelope, in lower case. */
  readonly envelopeId: string;
  /** Content hash, 16 hexadecimal characters. */
  readonly hash: string;
  /** Replay number, 0 before any replay: BullMQ silently ignores an add under an id that it holds, so no id is used twice. */
  readonly series: number;
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const DELIVERY_ID = new RegExp(`^(${UUID}|-)_(${UUID})_([0-9a-f]{16})_(0|[1-9][0-9]{0,14})$`);

/** The delivery's id: `<webhookId>_<envelopeId>_<hash>_<series>` (a BullMQ job id may hold no colon). */
export function deliveryId({ webhookId, envelopeId, hash, series }: Delivery): string {
  return `${webhookId}_${envelopeId}_${hash}_${series}`;
}

/** The delivery that an id names; undefined when the text is no delivery id. */
export function parseDeliveryId(id: string): Delivery | undefined {
  const [, webhookId, envelopeId, hash, series] = DELIVERY_ID.exec(id) ?? [];
  if (webhookId === undefined || envelopeId === undefined || hash === undefined) return undefined;
  return { webhookId, envelopeId, hash, series: Number(series) };
}
