import type { OnApplicationBootstrap } from '@nestjs/common';
import {
  barredUntil,
  CLOSED,
  counted,
  held,
  isForgettable,
  openMs,
  probed,
  probing,
  unclaimed,
  type Breaker,
  type BreakerStore,
} from '@relay/breaker';
import type { Reach } from '@relay/delivery';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import { FailureCounts, OriginReach } from './failure-counts.js';

/** Intervals in ms at which this worker reports failures to the other workers, and reads their reports. */
const REPORT_MS = 500;
const READ_MS = 1_000;
/** Time in ms without a change after which a breaker may be removed. */
const OLD_MS = 600_000;
/** After the end of a `Retry-After`, its deliveries are spread over a time as long as their wait, at most this many ms. */
const HELD_SPREAD_MS = 10_000;
/** A claim this many ms older than the deadline of an attempt was lost with its worker. */
const CLAIM_MARGIN_MS = 5_000;
/** Golden ratio: its multiples modulo 1 are spread evenly, however many there are. */
const GOLDEN = 0.618_033_988_749_895;

/** The two breakers of a delivery: that of its endpoint, and that of its webhook alone. */
export type BreakerKeys = Pick<Webhook, 'endpoint' | 'breakerKey'>;

/** Breakers that an attempt probes. */
export interface Probe {
  readonly ofWebhook: boolean;
  readonly ofEndpoint: boolean;
}

export const NO_PROBE: Probe = { ofWebhook: false, ofEndpoint: false };

/** Whether a queued delivery may be attempted. The caller reports the end of a probe by `Breakers.probed`. */
export type BreakerEntry =
  | { readonly mayGo: true; readonly probe: Probe }
  | { readonly mayGo: false; readonly at: number };

/** Result of an attempt, for its breakers. */
export interface BreakerOutcome {
  readonly failed: boolean;
  readonly reach: Reach;
  readonly durationMs: number;
  /** Epoch milliseconds before which the endpoint asked for no attempt. */
  readonly notBefore: number | undefined;
}

/**
 * This worker's view of the breakers that all workers share. A delivery needs the breakers of its webhook and of its endpoint
 * closed. An answer that is a failure counts against its webhook alone: the endpoint has answered. `OriginReach` decides which
 * failures count against the endpoint too.
 *
 * The worker reads from memory whether an attempt may be made, so an endpoint that never fails costs Redis nothing. It reads all
 * breakers once a second with one command. It reports a failing webhook with two commands, twice a second and at each tenth
 * failure in a row. A queued delivery that is due during an opening is put back to a time after its end. However long a delivery
 * waits, it is looked at no more than twice in each opening, of which there are about six an hour in the long run.
 */
export class Breakers implements OnApplicationBootstrap {
  /** Breakers by key: an endpoint, or a webhook's `breakerKey`. */
  #known = new Map<string, Breaker>();
  readonly #counts = new FailureCounts();
  /** Number of deliveries put back to the same end of an opening, by the breaker's key. */
  readonly #behind = new Map<string, { end: string; count: number }>();
  readonly #origins = new OriginReach();
  #timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly store: BreakerStore,
    private readonly log: ThrottledLog,
    /** Longest duration of an attempt, in milliseconds. */
    private readonly deadlineMs: number,
  ) {}

  onApplicationBootstrap(): void {
    this.#timers = [
      setInterval(() => void this.report(), REPORT_MS).unref(),
      setInterval(() => void this.read(), READ_MS).unref(),
    ];
  }

  /** Reports the counts that are not reported yet. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.report();
  }

  /**
   * Returns undefined if an attempt may be made, otherwise the epoch milliseconds at which the delivery is due again. The times
   * of the deliveries are spread.
   */
  lookAgainAt({ breakerKey, endpoint }: BreakerKeys, now: number): number | undefined {
    const own = this.#spread(breakerKey, now);
    const shared = this.#spread(endpoint, now);
    return own === undefined || shared === undefined ? (own ?? shared) : Math.max(own, shared);
  }

  /** Returns the same as `lookAgainAt`, but undefined if a probe is due. */
  restsUntil(keys: BreakerKeys, now: number): number | undefined {
    const rests = (key: string): boolean => barredUntil(this.#known.get(key) ?? CLOSED, now) > now;
    return rests(keys.breakerKey) || rests(keys.endpoint) ? this.lookAgainAt(keys, now) : undefined;
  }

  /** Whether the webhook gets no attempts now, or one at a time. */
  isBarred({ breakerKey, endpoint }: BreakerKeys, now: number): boolean {
    return this.#isBarred(breakerKey, now) || this.#isBarred(endpoint, now);
  }

  /**
   * Yields the keys of breakers that admit no attempt now, or one at a time, because of failures or because a webhook asked for
   * rest.
   */
  *barred(now: number): Generator<readonly [key: string, why: 'paused' | 'resting']> {
    for (const [key, { openUntil, heldUntil }] of this.#known) {
      if (openUntil > 0) yield [key, 'paused'];
      else if (heldUntil > now) yield [key, 'resting'];
    }
  }

  /**
   * Returns whether a queued delivery may be attempted now, perhaps as the probe of an open breaker; otherwise when it is due
   * again.
   */
  async enter(keys: BreakerKeys): Promise<BreakerEntry> {
    const now = Date.now();
    if (!this.isBarred(keys, now)) return { mayGo: true, probe: NO_PROBE };
    const own = await this.#pass(keys.breakerKey, now);
    const shared = own === 'barred' ? own : await this.#pass(keys.endpoint, now);
    const probe = { ofWebhook: own === 'probe', ofEndpoint: shared === 'probe' };
    if (shared !== 'barred') return { mayGo: true, probe };
    await this.unclaim(keys, probe, now);
    return { mayGo: false, at: this.lookAgainAt(keys, now) ?? now };
  }

  /** Gives back the claims of probes that were not made. */
  async unclaim({ breakerKey, endpoint }: BreakerKeys, { ofWebhook, ofEndpoint }: Probe, now: number): Promise<void> {
    if (ofWebhook) await this.#change(breakerKey, now, unclaimed);
    if (ofEndpoint) await this.#change(endpoint, now, unclaimed);
  }

  /**
   * Reports the result of a probe. If the store does not take it, the claim expires and another probe is made. A connection
   * closes the breaker of an endpoint, so that a silent path does not keep the other webhooks waiting for the next probe.
   */
  async probed(
    { breakerKey, endpoint }: BreakerKeys,
    outcome: BreakerOutcome,
    probe: Probe,
    now: number,
  ): Promise<void> {
    const { failed, notBefore, reach } = outcome;
    if (probe.ofWebhook)
      await this.#change(breakerKey, now, (breaker) => held(probed(breaker, !failed, now), notBefore ?? 0));
    if (probe.ofEndpoint)
      await this.#change(endpoint, now, (breaker) =>
        reach === 'unmade' ? unclaimed(breaker) : probed(breaker, reach !== 'unreached', now),
      );
  }

  /**
   * Counts an attempt that ended, except for the breakers whose probe it is.
   * @returns whether it counts as a failure of the whole origin
   */
  ended(keys: BreakerKeys, outcome: BreakerOutcome, now: number, probe: Probe = NO_PROBE): boolean {
    const { failed, reach, durationMs, notBefore } = outcome;
    const isOrigins = this.#origins.isFailure(keys, reach, durationMs, now);
    if (!probe.ofEndpoint && (isOrigins || reach === 'answered')) this.#count(keys.endpoint, isOrigins, 0, now);
    if (!probe.ofWebhook) this.#count(keys.breakerKey, failed, notBefore ?? 0, now);
    return isOrigins;
  }

  /** Reports the counts to the store; counts that it does not take are reported the next time. */
  async report(): Promise<void> {
    const now = Date.now();
    await this.#counts.report(now, (key, tally, heldUntil) =>
      this.#change(key, now, (breaker) => held(counted(breaker, tally, now), heldUntil)),
    );
  }

  /** Reads the reports of other workers. While the store is away, the last known state applies. */
  async read(): Promise<void> {
    try {
      this.#known = new Map(await this.store.all());
      this.#hold();
    } catch (error) {
      this.#away(error);
      return;
    }
    const now = Date.now();
    this.#origins.forget(now);
    for (const key of this.#behind.keys()) if (!this.#known.has(key)) this.#behind.delete(key);
    for (const [key, breaker] of this.#known) {
      const isOld = now - breaker.halfAt > OLD_MS;
      if (isOld && isForgettable(breaker, now)) await this.#change(key, now, (each) => each);
    }
  }

  /** Returns the same as `lookAgainAt`, for one breaker. */
  #spread(key: string, now: number): number | undefined {
    const breaker = this.#known.get(key);
    if (breaker === undefined || !this.#isBarred(key, now)) return undefined;
    const end = `${breaker.openUntil} ${breaker.probeUntil} ${breaker.heldUntil}`;
    const behind = this.#behind.get(key);
    const count = behind?.end === end ? behind.count : 0;
    this.#behind.set(key, { end, count: count + 1 });
    const spreadMs = breaker.openUntil > 0 ? openMs(breaker) : Math.min(HELD_SPREAD_MS, breaker.heldUntil - now);
    return Math.ceil(barredUntil(breaker, now) + spreadMs * ((count * GOLDEN) % 1));
  }

  #isBarred(key: string, now: number): boolean {
    const breaker = this.#known.get(key);
    return breaker !== undefined && (breaker.openUntil > 0 || breaker.heldUntil > now);
  }

  #count(key: string, failed: boolean, heldUntil: number, now: number): void {
    const isUrgent = this.#counts.add(key, failed, heldUntil, now);
    if (heldUntil > 0) this.#hold();
    if (isUrgent) void this.report();
  }

  /** Returns whether a breaker admits a delivery, perhaps as its probe. */
  async #pass(key: string, now: number): Promise<'closed' | 'probe' | 'barred'> {
    if (!this.#isBarred(key, now)) return 'closed';
    if (await this.#claimProbe(key, now)) return 'probe';
    // The store may have answered that the breaker is closed, or that another probe runs.
    return this.#isBarred(key, now) ? 'barred' : 'closed';
  }

  /** Returns false if another worker has the claim or the store is away. */
  async #claimProbe(key: string, now: number): Promise<boolean> {
    const claimMs = this.deadlineMs + CLAIM_MARGIN_MS;
    const breaker = this.#known.get(key);
    if (breaker === undefined || probing(breaker, now, claimMs) === undefined) return false;
    return this.#change(key, now, (each) => probing(each, now, claimMs));
  }

  async #change(key: string, now: number, change: (breaker: Breaker) => Breaker | undefined): Promise<boolean> {
    try {
      let before: Breaker | undefined;
      const { breaker, isChanged } = await this.store.change(key, now, (each) => change((before = each)));
      this.#known.set(key, breaker);
      if (isChanged && before !== undefined) this.#log(key, before, breaker);
      return isChanged;
    } catch (error) {
      this.#away(error);
      return false;
    }
  }

  /** Applies each `Retry-After` that this worker has received before the store has it. */
  #hold(): void {
    const now = Date.now();
    for (const [key, until] of this.#counts.held(now))
      this.#known.set(key, held(this.#known.get(key) ?? CLOSED, until));
  }

  #log(key: string, before: Breaker, after: Breaker): void {
    const [partnerId, origin, webhookId] = key.split(' ');
    const fields = { partnerId, origin, ...(webhookId === undefined ? {} : { webhookId }) };
    if (before.opened === 0 && after.opened > 0)
      this.log.warn(
        'endpoint.paused',
        'A webhook fails, or all of an origin; its deliveries wait, and one attempt at a time tries it',
        fields,
      );
    else if (before.opened > 0 && after.opened === 0)
      this.log.info('endpoint.resumed', 'A webhook or an origin answers again; its deliveries continue', fields);
  }

  #away(error: unknown): void {
    this.log.warn(
      'breakers.away',
      'The worker cannot read or store the breakers in Redis; the last known state applies',
      { reason: reasonOf(error) },
    );
  }
}
