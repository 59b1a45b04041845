export interface GateLimits {
  /** Attempts running at once in this worker. */
  readonly total: number;
  /** Attempts running at once to one endpoint, once it has proved quick. */
  readonly perEndpoint: number;
  /** How long a delivery waits in memory for its endpoint before it becomes a job. */
  readonly maxWaitMs: number;
  /** Attempts running at once to an endpoint that nothing is known of; default 8. */
  readonly first?: number;
  /** Slots that all slow and failing endpoints share; default all. */
  readonly troubled?: number;
  /**
   * Slots on top of the total for what slow and failing endpoints hold beyond their share: where many begin to hang at
   * once, all that runs of them is found slow a second later, and would hold the total until it times out; default none.
   */
  readonly spare?: number;
  /** Slots that one partner may hold while others wait; default all. */
  readonly perPartner?: number;
  /** Slots kept at most for queued jobs that found all of them taken, so that what waits in memory does not have each; default none. */
  readonly owed?: number;
}

/** What became of a slot: an attempt that delivered or did not, or none at all, which says nothing of the endpoint. */
export type Ended = 'succeeded' | 'failed' | 'unused';

/** A delivery that waited too long for its endpoint: it becomes a job that is due at this time. */
export interface Expired<T> {
  readonly item: T;
  readonly endpoint: string;
  readonly at: number;
}

/**
 * A quarter of the slots for all troubled endpoints, half of them for one partner. What
 * hangs beyond that quarter takes nothing from the others, until as many slots again are taken.
 */
export function fairLimits(total: number, perEndpoint: number): GateLimits {
  const part = (share: number): number => Math.max(1, Math.floor(total * share));
  return {
    total,
    perEndpoint,
    maxWaitMs: 250,
    troubled: part(1 / 4),
    spare: total,
    perPartner: part(1 / 2),
    owed: Math.floor(total / 8),
  };
}
