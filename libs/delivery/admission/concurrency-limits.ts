/** Identifies a webhook and its endpoint. */
export interface Place {
  /** Partner and origin, separated by a space. */
  readonly endpoint: string;
  /** Id of the webhook. */
  readonly id: string;
}

export interface ConcurrencyLimits {
  /** Maximum of attempts that run at the same time in this worker. */
  readonly total: number;
  /**
   * Maximum of attempts that run at the same time to one endpoint. Slow and failing webhooks may use a quarter of it. If
   * more of their attempts run, which began before the webhooks were known to be slow, the excess is not counted.
   */
  readonly perEndpoint: number;
  /** Milliseconds for which a delivery waits in memory for its endpoint. After that time it becomes a queued job. */
  readonly maxWaitMs: number;
  /** Initial maximum of attempts to an endpoint or of a webhook that has no history; 8 by default. */
  readonly initial?: number;
  /** Maximum of slots that all slow and failing webhooks may use together; all slots by default. */
  readonly troubled?: number;
  /**
   * If true, a partner may use only a part of the slots for slow and failing webhooks, and leaves a part of the same size
   * free for a new partner; false by default.
   */
  readonly hasTroubledParts?: boolean;
  /**
   * Extra slots for attempts of slow and failing webhooks that exceed `troubled`; none by default. If many webhooks begin to
   * hang at once, their attempts are recognized as slow only after a second. Without extra slots these attempts use up the
   * total until they time out.
   */
  readonly spare?: number;
  /** Maximum of slots that one partner may use while deliveries of other partners wait; all slots by default. */
  readonly perPartner?: number;
  /**
   * Maximum of slots that are reserved for queued jobs that found all slots taken; none by default. Without reservations,
   * every free slot goes to a delivery that waits in memory.
   */
  readonly reserved?: number;
}

/**
 * How a slot was used.
 * - `succeeded`: the delivery succeeded.
 * - `failed`: the delivery failed. Only the limit of the webhook is lowered.
 * - `unreached`: the attempt did not reach the origin. The cap of the endpoint is lowered too.
 * - `unused`: no attempt was completed, so no limit changes.
 */
export type SlotUse = 'succeeded' | 'failed' | 'unreached' | 'unused';

/**
 * Returns limits for this total. All slow and failing webhooks together may use a quarter of the slots, divided among their
 * partners. If more of their attempts are already running when the webhooks are found to be slow, extra slots are added for
 * the excess. There are at most `total` extra slots. One partner may use half of all slots.
 */
export function fairLimits(total: number, perEndpoint: number): ConcurrencyLimits {
  const part = (share: number): number => Math.max(1, Math.floor(total * share));
  return {
    total,
    perEndpoint,
    maxWaitMs: 250,
    troubled: part(1 / 4),
    hasTroubledParts: true,
    spare: total,
    perPartner: part(1 / 2),
    reserved: Math.floor(total / 8),
  };
}
