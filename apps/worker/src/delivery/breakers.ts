import type { OnApplicationBootstrap } from '@nestjs/common';
import {
  barredUntil,
  CLOSED,
  counted,
  held,
  IN_A_ROW,
  isForgettable,
  openMs,
  probed,
  probing,
  type Breaker,
  type BreakerStore,
} from '@relay/breaker';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

/** How often failures are reported to the other workers, and their reports are read. */
const REPORT_MS = 500;
const READ_MS = 1_000;
/** How long the attempts of an endpoint are counted after a failure, successes included. */
const COUNTED_MS = 60_000;
/** Deliveries held back by `Retry-After` are spread over as long again after its end, but over no more than this. */
const HELD_SPREAD_MS = 10_000;
/** An attempt ends by its deadline; a claim that is older by this much was lost with its worker. */
const CLAIM_MARGIN_MS = 5_000;
/** Its multiples modulo 1 are spread evenly, however many there are. */
const GOLDEN = 0.618_033_988_749_895;

interface Counting {
  succeeded: number;
  failed: number;
  row: number;
  heldUntil: number;
  lastFailedAt: number;
}

/** Whether a queued delivery may be attempted; the end of a probe is reported by `probed`. */
export type BreakerEntry =
  | { readonly mayGo: true; readonly isProbe: boolean }
  | { readonly mayGo: false; readonly at: number };

/** How an attempt ended, for its endpoint's breaker. */
export interface EndpointOutcome {
  readonly failed: boolean;
  /** Epoch milliseconds before which the endpoint asked for no attempt. */
  readonly notBefore: number | undefined;
}

/**
 * This worker's view of the breakers that all workers share. Whether an attempt may be made is read from memory, so
 * an endpoint that never fails costs Redis nothing. A worker reads all breakers once a second with one command. It
 * reports a failing endpoint with two commands, twice a second and at each tenth failure in a row. A queued delivery
 * that is due during an opening is put back to a time after its end. So it is looked at no more than twice in each
 * opening, of which there are about six an hour in the long run, however long it waits.
 */
export class Breakers implements OnApplicationBootstrap {
  #known = new Map<string, Breaker>();
  readonly #counting = new Map<string, Counting>();
  /** How many deliveries were put back to the same end of an endpoint's opening. */
  readonly #behind = new Map<string, { end: string; count: number }>();
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
   * Undefined when an attempt may be made, else epoch milliseconds at which the delivery is due again, spread among
   * all of them.
   */
  lookAgainAt(endpoint: string, now: number): number | undefined {
    const breaker = this.#known.get(endpoint);
    if (breaker === undefined || !this.isBarred(endpoint, now)) return undefined;
    const end = `${breaker.openUntil} ${breaker.probeUntil} ${breaker.heldUntil}`;
    const behind = this.#behind.get(endpoint);
    const count = behind?.end === end ? behind.count : 0;
    this.#behind.set(endpoint, { end, count: count + 1 });
    const spreadMs = breaker.openUntil > 0 ? openMs(breaker) : Math.min(HELD_SPREAD_MS, breaker.heldUntil - now);
    return Math.ceil(barredUntil(breaker, now) + spreadMs * ((count * GOLDEN) % 1));
  }

  /** As `lookAgainAt`, but undefined also when a probe is due. */
  restsUntil(endpoint: string, now: number): number | undefined {
    const breaker = this.#known.get(endpoint);
    return breaker === undefined || barredUntil(breaker, now) <= now ? undefined : this.lookAgainAt(endpoint, now);
  }

  /** Whether the endpoint gets no attempts now, or one at a time. */
  isBarred(endpoint: string, now: number): boolean {
    const breaker = this.#known.get(endpoint);
    return breaker !== undefined && (breaker.openUntil > 0 || breaker.heldUntil > now);
  }

  /** Endpoints that get no attempts now, or one at a time: because they fail, or because they asked for rest. */
  *barred(now: number): Generator<readonly [endpoint: string, why: 'paused' | 'resting']> {
    for (const [endpoint, { openUntil, heldUntil }] of this.#known) {
      if (openUntil > 0) yield [endpoint, 'paused'];
      else if (heldUntil > now) yield [endpoint, 'resting'];
    }
  }

  /**
   * Whether a queued delivery may be attempted now, perhaps as the one probe of an open breaker; else when it is due
   * again.
   */
  async enter(endpoint: string): Promise<BreakerEntry> {
    const now = Date.now();
    if (this.lookAgainAt(endpoint, now) === undefined) return { mayGo: true, isProbe: false };
    if (await this.#claimProbe(endpoint, now)) return { mayGo: true, isProbe: true };
    // The store may have shown meanwhile that the breaker is closed, or that another probe runs.
    const at = this.lookAgainAt(endpoint, now);
    return at === undefined ? { mayGo: true, isProbe: false } : { mayGo: false, at };
  }

  /** Reports what the probe showed. If the store does not take it, the claim runs out and another probe is made. */
  async probed(endpoint: string, { failed, notBefore }: EndpointOutcome, now: number): Promise<void> {
    await this.#change(endpoint, now, (breaker) => held(probed(breaker, !failed, now), notBefore ?? 0));
  }

  ended(endpoint: string, { failed, notBefore }: EndpointOutcome, now: number): void {
    let counting = this.#counting.get(endpoint);
    if (counting === undefined) {
      if (!failed) return;
      counting = { succeeded: 0, failed: 0, row: 0, heldUntil: 0, lastFailedAt: now };
      this.#counting.set(endpoint, counting);
    }
    if (!failed) {
      counting.succeeded += 1;
      counting.row = 0;
      return;
    }
    counting.failed += 1;
    counting.row += 1;
    counting.lastFailedAt = now;
    if (notBefore !== undefined) {
      counting.heldUntil = Math.max(counting.heldUntil, notBefore);
      this.#hold();
    }
    // An endpoint that refuses at once would get many attempts in another half a second.
    if (counting.row % IN_A_ROW === 0) void this.report();
  }

  /** Reports the counts to the store; counts that it does not take are reported the next time. */
  async report(): Promise<void> {
    const now = Date.now();
    await Promise.all(
      [...this.#counting].map(async ([endpoint, counting]) => {
        const { succeeded, failed, row, heldUntil, lastFailedAt } = counting;
        if (succeeded + failed === 0) {
          if (now - lastFailedAt > COUNTED_MS) this.#counting.delete(endpoint);
          return;
        }
        this.#counting.set(endpoint, { succeeded: 0, failed: 0, row: 0, heldUntil, lastFailedAt });
        const change = (breaker: Breaker): Breaker =>
          held(counted(breaker, { succeeded, failed, row }, now), heldUntil);
        if (await this.#change(endpoint, now, change)) return;
        const since = this.#counting.get(endpoint);
        if (since === undefined) return;
        since.row = since.succeeded > 0 ? since.row : row + since.failed;
        since.succeeded += succeeded;
        since.failed += failed;
      }),
    );
  }

  /** Reads what other workers reported. While the store is away the last known state counts. */
  async read(): Promise<void> {
    try {
      this.#known = new Map(await this.store.all());
      this.#hold();
    } catch (error) {
      this.#away(error);
      return;
    }
    const now = Date.now();
    for (const endpoint of this.#behind.keys()) if (!this.#known.has(endpoint)) this.#behind.delete(endpoint);
    for (const [endpoint, breaker] of this.#known) {
      const isOld = now - breaker.halfAt > 10 * COUNTED_MS;
      if (isOld && isForgettable(breaker, now)) await this.#change(endpoint, now, (each) => each);
    }
  }

  /** False when another worker has the claim, or the store is away. */
  async #claimProbe(endpoint: string, now: number): Promise<boolean> {
    const claimMs = this.deadlineMs + CLAIM_MARGIN_MS;
    const breaker = this.#known.get(endpoint);
    if (breaker === undefined || probing(breaker, now, claimMs) === undefined) return false;
    return this.#change(endpoint, now, (each) => probing(each, now, claimMs));
  }

  async #change(endpoint: string, now: number, change: (breaker: Breaker) => Breaker | undefined): Promise<boolean> {
    try {
      let before: Breaker | undefined;
      const { breaker, isChanged } = await this.store.change(endpoint, now, (each) => change((before = each)));
      this.#know(endpoint, breaker);
      if (isChanged && before !== undefined) this.#log(endpoint, before, breaker);
      return isChanged;
    } catch (error) {
      this.#away(error);
      return false;
    }
  }

  /** A `Retry-After` that this worker knows binds it before the store does. */
  #hold(): void {
    const now = Date.now();
    for (const [endpoint, { heldUntil }] of this.#counting) {
      if (heldUntil > now) this.#know(endpoint, held(this.#known.get(endpoint) ?? CLOSED, heldUntil));
    }
  }

  #know(endpoint: string, breaker: Breaker): void {
    this.#known.set(endpoint, breaker);
  }

  #log(endpoint: string, before: Breaker, after: Breaker): void {
    const [partnerId, origin] = endpoint.split(' ');
    if (before.opened === 0 && after.opened > 0)
      this.log.warn('endpoint.paused', 'An endpoint fails; its deliveries wait, and one attempt at a time tries it', {
        partnerId,
        origin,
      });
    else if (before.opened > 0 && after.opened === 0)
      this.log.info('endpoint.resumed', 'An endpoint answers again; its deliveries continue', { partnerId, origin });
  }

  #away(error: unknown): void {
    this.log.warn(
      'breakers.away',
      'The worker cannot read or store the breakers in Redis; the last known state applies',
      {
        reason: reasonOf(error),
      },
    );
  }
}
