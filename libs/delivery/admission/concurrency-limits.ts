/** A webhook, for which slots are counted. */
export interface Place {
  /** Partner and origin, separated by a space. */
  readonly endpoint: string;
  /** Id of the webhook. */
  readonly id: string;
}

export interface ConcurrencyLimits {
  /** Attempts that run at once in this worker. */
  readonly total: number;
  /** Maximum of attempts that run at once to one endpoint, not counting attempts that hang beyond a quarter of its cap. */
  readonly perEndpoint: number;
  /** Milliseconds that a delivery waits in memory for its endpoint before it becomes a job. */
  readonly maxWaitMs: number;
  /** Attempts that run at once to an endpoint, or of a webhook, without history; default 8. */
  readonly initial?: number;
  /** Slots that all slow and failing webhooks share; default all. */
  readonly troubled?: number;
  /** Whether each partner leaves as much of these slots free as it may have; default false. */
  readonly hasTroubledParts?: boolean;
  /**
   * Slots on top of the total for attempts that slow and failing webhooks hold beyond their share; default none. If many webhooks
   * begin to hang at once, their attempts are found slow only a second later. Without spare slots they hold the total until they
   * time out.
   */
  readonly spare?: number;
  /** Slots that one partner may hold while deliveries of other partners wait; default all. */
  readonly perPartner?: number;
  /**
   * Maximum of slots reserved for queued jobs that found all slots taken; otherwise waiting deliveries take each free slot.
   * Default none.
   */
  readonly reserved?: number;
}

/**
 * Use of a slot. `succeeded`: the attempt delivered. `failed`: it did not, which counts against the webhook alone. `unreached`:
 * it did not reach the origin, which also counts against the cap of the whole endpoint. `unused`: no attempt was completed, which
 * says nothing.
 */
export type SlotUse = 'succeeded' | 'failed' | 'unreached' | 'unused';

/**
 * Returns limits with a quarter of the slots for all troubled webhooks, in parts of their partners, and half of all slots for one
 * partner. Attempts that hang beyond that quarter take no slot from others, until they hold as many slots again as the total.
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
