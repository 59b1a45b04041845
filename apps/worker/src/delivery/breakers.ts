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

/** Intervals in ms at which this worker reports its failures to the other workers and reads their reports. */
const REPORT_MS = 500;
const READ_MS = 1_000;
/** Milliseconds without a change after which a breaker may be removed. */
const OLD_MS = 600_000;
/** Maximum time in ms over which waiting deliveries are spread after a `Retry-After` has ended. */
const HELD_SPREAD_MS = 10_000;
/**
 * Margin in ms. A worker that claims a probe has the deadline of an attempt plus this margin to report the result. If it
 * reports none by then, it has probably stopped, and another worker may claim the probe.
 */
const CLAIM_MARGIN_MS = 5_000;
/** Golden ratio. The fractional parts of its multiples are spread evenly, for any number of multiples. */
const GOLDEN = 0.618_033_988_749_895;

/** Keys of the two breakers of a delivery: one for its endpoint, and one for its webhook alone. */
export type BreakerKeys = Pick<Webhook, 'endpoint' | 'breakerKey'>;

/** The breakers for which an attempt is the probe. */
export interface Probe {
  readonly ofWebhook: boolean;
  readonly ofEndpoint: boolean;
}

export const NO_PROBE: Probe = { ofWebhook: false, ofEndpoint: false };

/**
 * Whether a queued delivery may be attempted. If `probe` names a breaker, the caller reports the result to
 * `Breakers.probed`.
 */
export type BreakerEntry =
  | { readonly mayGo: true; readonly probe: Probe }
  | { readonly mayGo: false; readonly at: number };

/** Result of an attempt, as the breakers need it. */
export interface BreakerOutcome {
  readonly failed: boolean;
  readonly reach: Reach;
  readonly durationMs: number;
  /** Epoch milliseconds before which the endpoint wants no further attempt (`Retry-After`). */
  readonly notBefore: number | undefined;
}

/**
 * This worker's view of the breakers, which all workers share through Redis. A delivery is attempted only if the breaker of
 * its webhook and the breaker of its endpoint are closed. If the endpoint answers with an error, only the breaker of the
 * webhook counts a failure. `OriginReach` decides which attempts without an answer also count as a failure of the endpoint.
 *
 * Each attempt checks the breakers in memory, so an endpoint that never fails costs Redis nothing. The worker reads all
 * breakers once a second with one command. It reports the failures of a webhook with two commands, twice a second and after
 * every tenth failure in a row. A queued delivery that is due while a breaker is open is delayed until after the breaker's
 * end. It is checked at most twice during that time. The breaker of an endpoint that keeps failing opens about six times an
 * hour.
 */
export class Breakers implements OnApplicationBootstrap {
  /** Breakers by key. The key is an endpoint, or the `breakerKey` of a webhook. */
  #known = new Map<string, Breaker>();
  readonly #counts = new FailureCounts();
  /** By key of the breaker: number of deliveries that were delayed until the same end. */
  readonly #behind = new Map<string, { end: string; count: number }>();
  readonly #origins = new OriginReach();
  #timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly store: BreakerStore,
    private readonly log: ThrottledLog,
    /** Maximum duration of an attempt, in milliseconds. */
    private readonly deadlineMs: number,
  ) {}

  onApplicationBootstrap(): void {
    this.#timers = [
      setInterval(() => void this.report(), REPORT_MS).unref(),
      setInterval(() => void this.read(), READ_MS).unref(),
    ];
  }

  /** Stops the timers and reports the remaining counts. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.report();
  }

  /**
   * Returns undefined if an attempt may be made; otherwise the epoch milliseconds at which the delivery is due again. Each
   * call returns another time, so that the deliveries are spread.
   */
  lookAgainAt({ breakerKey, endpoint }: BreakerKeys, now: number): number | undefined {
    const own = this.#spread(breakerKey, now);
    const shared = this.#spread(endpoint, now);
    return own === undefined || shared === undefined ? (own ?? shared) : Math.max(own, shared);
  }

  /** Returns the same as `lookAgainAt`, except that it returns undefined if a breaker is due for a probe. */
  restsUntil(keys: BreakerKeys, now: number): number | undefined {
    const rests = (key: string): boolean => barredUntil(this.#known.get(key) ?? CLOSED, now) > now;
    return rests(keys.breakerKey) || rests(keys.endpoint) ? this.lookAgainAt(keys, now) : undefined;
  }

  /**
   * Whether a breaker of the webhook is open or paused by `Retry-After`, so that it admits one attempt at a time at most.
   */
  isBarred({ breakerKey, endpoint }: BreakerKeys, now: number): boolean {
    return this.#isBarred(breakerKey, now) || this.#isBarred(endpoint, now);
  }

  /**
   * Yields the keys of the breakers that admit one attempt at a time at most. `paused` means that the breaker is open
   * because of failures, `resting` that the endpoint asked for a pause (`Retry-After`).
   */
  *barred(now: number): Generator<readonly [key: string, why: 'paused' | 'resting']> {
    for (const [key, { openUntil, heldUntil }] of this.#known) {
      if (openUntil > 0) yield [key, 'paused'];
      else if (heldUntil > now) yield [key, 'resting'];
    }
  }

  /**
   * Returns whether a queued delivery may be attempted now, possibly as the probe of an open breaker. If not, returns when
   * the delivery is due again.
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
   * Reports the result of a probe. If Redis is unavailable, the claim expires and another probe follows. The breaker of the
   * endpoint closes as soon as the endpoint answers or is reachable, even if the attempt failed. Otherwise, one webhook that
   * gets no answer keeps all other webhooks of the endpoint waiting.
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
   * Counts an attempt for the breaker of its webhook and for the breaker of its endpoint. A breaker does not count an
   * attempt that was its probe.
   * @returns whether the attempt counts as a failure of the whole origin
   */
  ended(keys: BreakerKeys, outcome: BreakerOutcome, now: number, probe: Probe = NO_PROBE): boolean {
    const { failed, reach, durationMs, notBefore } = outcome;
    const isOrigins = this.#origins.isFailure(keys, reach, durationMs, now);
    if (!probe.ofEndpoint && (isOrigins || reach === 'answered')) this.#count(keys.endpoint, isOrigins, 0, now);
    if (!probe.ofWebhook) this.#count(keys.breakerKey, failed, notBefore ?? 0, now);
    return isOrigins;
  }

  /** Reports the counts to Redis. Counts that could not be stored are reported again the next time. */
  async report(): Promise<void> {
    const now = Date.now();
    await this.#counts.report(now, (key, tally, heldUntil) =>
      this.#change(key, now, (breaker) => held(counted(breaker, tally, now), heldUntil)),
    );
  }

  /**
   * Reads the breakers, which include the reports of other workers. While Redis is unavailable, the last known state
   * applies.
   */
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

  /** Does the same as `lookAgainAt` for a single breaker. */
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

  /** Returns whether a breaker admits a delivery, possibly as its probe. */
  async #pass(key: string, now: number): Promise<'closed' | 'probe' | 'barred'> {
    if (!this.#isBarred(key, now)) return 'closed';
    if (await this.#claimProbe(key, now)) return 'probe';
    // The answer from Redis may show that the breaker is closed, or that another probe is in progress.
    return this.#isBarred(key, now) ? 'barred' : 'closed';
  }

  /** Returns false if another worker has claimed the probe or Redis is unavailable. */
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

  /** Applies each `Retry-After` that this worker has received but Redis does not have yet. */
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
