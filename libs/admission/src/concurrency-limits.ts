import { INITIAL_LIMIT } from './adaptive-limit.js';

/** What slots are counted for: a webhook is one. */
export interface Place {
  /** Partner and origin, separated by a space. */
  readonly endpoint: string;
  /** Of the webhook. */
  readonly id: string;
}

/** A webhook, and what its endpoint has running. */
export interface SlotState {
  readonly running: number;
  readonly limit: number;
  readonly isTroubled: boolean;
  readonly isFull: boolean;
  readonly endpoint: {
    readonly running: number;
    readonly troubled: number;
    readonly open: number;
    readonly cap: { readonly value: number };
  };
}

export interface ConcurrencyLimits {
  /** Attempts that run at once in this worker. */
  readonly total: number;
  /** Maximum of attempts that run at once to one endpoint, those aside that hang beyond a quarter of its cap. */
  readonly perEndpoint: number;
  /** Milliseconds that a delivery waits in memory for its endpoint before it becomes a job. */
  readonly maxWaitMs: number;
  /** Attempts that run at once to an endpoint, or of a webhook, without history; default 8. */
  readonly initial?: number;
  /** Slots that all slow and failing webhooks share; default all. */
  readonly troubled?: number;
  /** Whether each partner leaves free in these slots as much as it may have; default false. */
  readonly hasTroubledParts?: boolean;
  /**
   * Slots on top of the total for what slow and failing webhooks hold beyond their share. Where many webhooks begin to hang
   * at once, their attempts are found slow a second later and would hold the total until they time out. Default none.
   */
  readonly spare?: number;
  /** Slots that one partner may hold while deliveries of other partners wait; default all. */
  readonly perPartner?: number;
  /** Maximum of slots reserved for queued jobs that found all slots taken, since waiting deliveries would take each free one; default none. */
  readonly reserved?: number;
}

/**
 * How a slot was used: by an attempt that delivered or did not, or by none, which says nothing. `unreached` failed for want of the
 * origin, which counts against the cap of the whole endpoint; `failed` counts against the webhook alone.
 */
export type SlotUse = 'succeeded' | 'failed' | 'unreached' | 'unused';

/** A delivery that waited too long for a slot of its webhook: it becomes a job that is due at this time. */
export interface ExpiredDelivery<T> {
  readonly item: T;
  readonly at: number;
}

export function withDefaults(limits: ConcurrencyLimits): Required<ConcurrencyLimits> {
  const { total } = limits;
  return {
    initial: INITIAL_LIMIT,
    troubled: total,
    hasTroubledParts: false,
    spare: 0,
    perPartner: total,
    reserved: 0,
    ...limits,
  };
}

/**
 * A quarter of the slots for all troubled webhooks, in parts of their partners; half of all slots for one partner. Attempts that
 * hang beyond that quarter take no slot from others, until as many slots again are taken.
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
