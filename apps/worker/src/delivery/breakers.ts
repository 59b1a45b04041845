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

/** How often failures are told to the other workers, and what they told is read. */
const REPORT_MS = 500;
const READ_MS = 1_000;
/** After a failure the attempts of an endpoint are counted this long, successes too. */
const COUNTED_MS = 60_000;
/** Deliveries that an endpoint's own wish held back come back within as long again after its end, and within this at most. */
const HELD_SPREAD_MS = 10_000;
/** An attempt ends by its deadline; a probe that is claimed for this much longer was lost with its worker. */
const CLAIM_MARGIN_MS = 5_000;
/** Its multiples, taken modulo 1, are spread evenly however many there are. */
const GOLDEN = 0.618_033_988_749_895;

interface Counting {
  succeeded: number;
  failed: number;
  row: number;
  heldUntil: number;
  lastFailedAt: number;
}

/** What a queued delivery is told; a probe's end is to be told by `probed`. */
export type Entry =
  { readonly mayGo: true; readonly isProbe: boolean } | { readonly mayGo: false; readonly at: number };

/** How an attempt ended, as far as its endpoint's breaker is concerned. */
export interface Ended {
  readonly failed: boolean;
  /** The endpoint asked for no attempt before this time. */
  readonly notBefore: number | undefined;
}

/**
 * What this worker knows of the breakers that all workers share. Whether an attempt may be made is read from memory; an
 * endpoint that never fails costs Redis nothing. A worker reads all breakers once a second, in one command, and tells of
 * an endpoint that fails twice a second, and at each tenth failure in a row, in two. A waiting delivery looks once, when
 * its time has come, and is put behind the end of the opening: so it looks at most twice an opening, its queue commands
 * are bounded by the number of openings (about six an hour in the long run) and not by how long it waits.
 */
export class Breakers implements OnApplicationBootstrap {
  #known = new Map<string, Breaker>();
  readonly #counting = new Map<string, Counting>();
  /** Deliveries put behind the same end of an endpoint's opening. */
  readonly #behind = new Map<string, { end: string; count: number }>();
  #timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly store: BreakerStore,
    private readonly log: ThrottledLog,
    /** Longest time an attempt takes. */
    private readonly deadlineMs: number,
  ) {}

  onApplicationBootstrap(): void {
    this.#timers = [
      setInterval(() => void this.report(), REPORT_MS).unref(),
      setInterval(() => void this.read(), READ_MS).unref(),
    ];
  }

  /** Tells what is not told yet. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.report();
  }

  /** Undefined when an attempt may be made; else the time at which a delivery is to look again, spread among all of them. */
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

  /** As `lookAgainAt`, but undefined also where it is time for a probe. */
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

  /** Whether a queued delivery may be attempted now: as ever, or as the one probe of an open breaker. Else when to look again. */
  async enter(endpoint: string): Promise<Entry> {
    const now = Date.now();
    if (this.lookAgainAt(endpoint, now) === undefined) return { mayGo: true, isProbe: false };
    if (await this.#claimProbe(endpoint, now)) return { mayGo: true, isProbe: true };
    // The store may have shown meanwhile that the breaker is closed, or that another probe runs.
    const at = this.lookAgainAt(endpoint, now);
    return at === undefined ? { mayGo: true, isProbe: false } : { mayGo: false, at };
  }

  /** What the probe showed. Should it not be told, its claim runs out and another probe is made. */
  async probed(endpoint: string, { failed, notBefore }: Ended, now: number): Promise<void> {
    await this.#change(endpoint, now, (breaker) => held(probed(breaker, !failed, now), notBefore ?? 0));
  }

  ended(endpoint: string, { failed, notBefore }: Ended, now: number): void {
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
    // Half a second more of them would be many where an endpoint refuses at once.
    if (counting.row % IN_A_ROW === 0) void this.report();
  }

  /** Tells the store what was counted since the last time; what it does not take is told the next time. */
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

  /** Learns what other workers told. While the store is away the last known state counts. */
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

  /** False also while the store is away. */
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
      if (isChanged && before !== undefined) this.#tell(endpoint, before, breaker);
      return isChanged;
    } catch (error) {
      this.#away(error);
      return false;
    }
  }

  /** Holds that are not told yet bind this worker already, as do those on their way, of which what was read may not know. */
  #hold(): void {
    const now = Date.now();
    for (const [endpoint, { heldUntil }] of this.#counting) {
      if (heldUntil > now) this.#know(endpoint, held(this.#known.get(endpoint) ?? CLOSED, heldUntil));
    }
  }

  #know(endpoint: string, breaker: Breaker): void {
    this.#known.set(endpoint, breaker);
  }

  #tell(endpoint: string, before: Breaker, after: Breaker): void {
    const [partnerId, origin] = endpoint.split(' ');
    if (before.opened === 0 && after.opened > 0)
      this.log.warn('endpoint.paused', 'An endpoint fails; its deliveries wait, and one at a time tries it', {
        partnerId,
        origin,
      });
    else if (before.opened > 0 && after.opened === 0)
      this.log.info('endpoint.resumed', 'An endpoint answers again; its deliveries go on', { partnerId, origin });
  }

  #away(error: unknown): void {
    this.log.warn('breakers.away', 'What other workers know of failing endpoints cannot be read or told for now', {
      reason: reasonOf(error),
    });
  }
}
