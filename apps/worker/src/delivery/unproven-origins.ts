import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { KnownOrigins, originOf, OriginTurns, RedisOriginProofs, type Asker } from '@relay/breaker';
import { UnprovenJobs } from '@relay/jobs';
import { reasonOf, ThrottledLog } from '@relay/telemetry';

/** Interval in ms at which the worker reads which origins have answered 2xx to other workers. */
const LOOK_MS = 1_000;

/**
 * Whether a delivery may be attempted. If not, `at` is the time of its turn (`hasTurn`) or the time at which to ask again.
 */
export type Entry =
  | { readonly mayGo: true }
  | { readonly mayGo: false; readonly at: number; readonly hasTurn: boolean };

const GO: Entry = { mayGo: true };

/**
 * Protects hosts that never asked for deliveries. An origin that has never answered 2xx gets one attempt a second from each
 * worker. Partners and their webhooks take turns at these attempts (`OriginTurns`). After the first 2xx, the origin counts
 * as proven: its deliveries in memory continue, its jobs become due at once, and from then on only its breakers limit it.
 * While Redis is unavailable, an origin gets no attempts unless this worker already knows that it is proven.
 */
@Injectable()
export class UnprovenOrigins implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #known = new KnownOrigins();
  readonly #turns = new OriginTurns();
  #onProof: (origin: string) => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(
    @Inject(RedisOriginProofs) private readonly proofs: Pick<RedisOriginProofs, 'prove' | 'proven'>,
    @Inject(UnprovenJobs)
    private readonly jobs: Pick<UnprovenJobs, 'hold' | 'drop' | 'origins' | 'letGo' | 'forget'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  /** @param released called with each origin as soon as this worker knows that it is proven */
  onProof(released: (origin: string) => void): void {
    this.#onProof = released;
  }

  /** Whether this worker knows that the origin is proven. Reads from memory only. */
  isProven(endpoint: string): boolean {
    return this.#known.has(originOf(endpoint), Date.now());
  }

  /**
   * Requests an attempt. Never rejects.
   * @param job a stored job that waits for the origin; it is released if it may be attempted
   */
  async enter(webhook: Asker, job?: { readonly id: string; readonly hasTurn: boolean }): Promise<Entry> {
    const { endpoint } = webhook;
    if (this.isProven(endpoint)) return GO;
    const origin = originOf(endpoint);
    try {
      const provenAt = (await this.proofs.proven([origin])).get(origin);
      if (provenAt !== undefined) {
        this.#learn(origin, provenAt);
        return GO;
      }
      const entry = job?.hasTurn === true ? GO : this.#take(webhook);
      if (entry.mayGo && job !== undefined) await this.jobs.drop(origin, job.id);
      return entry;
    } catch (error) {
      this.#away(error);
      return this.#later(webhook);
    }
  }

  /** Records a 2xx answer of the endpoint. Never rejects. */
  async delivered(endpoint: string): Promise<void> {
    const origin = originOf(endpoint);
    if (this.#known.isReportDue(origin, Date.now())) await this.#prove(origin);
  }

  /** Returns the epoch milliseconds at which a delivery without a turn should ask again. */
  askAgainAt(webhook: Asker): number {
    return byWall(this.#turns.askAgainAt(webhook, performance.now(), Math.random()));
  }

  /** Returns `askAgainAt` if earlier deliveries of the webhook will ask only after `waitMs`; otherwise undefined. */
  behind(webhook: Asker, waitMs: number): number | undefined {
    return this.#turns.isBehind(webhook, performance.now() + waitMs) ? this.askAgainAt(webhook) : undefined;
  }

  /** Registers a stored job that waits for its origin, so that the first 2xx makes the job due at once. Never rejects. */
  async hold(endpoint: string, jobId: string, at: number): Promise<void> {
    try {
      await this.jobs.hold(originOf(endpoint), jobId, at);
    } catch (error) {
      this.#away(error);
    }
  }

  /** Yields the endpoints that deliveries wait for and whose origin is not known to have answered 2xx. */
  *unproven(): Generator<string> {
    for (const endpoint of this.#turns.endpoints()) if (!this.isProven(endpoint)) yield endpoint;
  }

  /** Reads which origins other workers have proven, and releases the jobs that wait for these origins. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.#turns.forget(performance.now());
      const waiting = await this.jobs.origins();
      const origins = new Set([...waiting, ...[...this.unproven()].map(originOf)]);
      const proven = await this.proofs.proven([...origins]);
      for (const [origin, at] of proven) this.#learn(origin, at);
      for (const origin of waiting) if (proven.has(origin)) await this.jobs.letGo(origin);
      await this.jobs.forget(waiting.filter((origin) => !proven.has(origin)));
    } catch (error) {
      this.#away(error);
    } finally {
      this.#isLooking = false;
    }
  }

  #take(webhook: Asker): Entry {
    const now = performance.now();
    const at = this.#turns.take(webhook, now);
    if (at === undefined) return this.#later(webhook);
    return at <= now ? GO : { mayGo: false, at: byWall(at), hasTurn: true };
  }

  #later(webhook: Asker): Entry {
    return { mayGo: false, at: this.askAgainAt(webhook), hasTurn: false };
  }

  async #prove(origin: string): Promise<void> {
    const isFirst = !this.#known.has(origin, Date.now());
    this.#learn(origin, Date.now());
    try {
      await this.proofs.prove(origin);
      if (!isFirst) return;
      this.log.info('origin.proven', 'An origin answered 2xx for the first time; its waiting deliveries continue', {
        origin,
      });
      await this.jobs.letGo(origin);
    } catch (error) {
      this.#known.knowUnreported(origin, Date.now());
      this.#away(error);
    }
  }

  #learn(origin: string, at: number): void {
    const isNews = !this.#known.has(origin, Date.now());
    this.#known.know(origin, at);
    if (!isNews) return;
    this.#turns.prove(origin);
    this.#onProof(origin);
  }

  #away(error: unknown): void {
    this.log.warn(
      'origins.away',
      'The worker cannot read or store in Redis which origins have answered; new origins get nothing until it can',
      { reason: reasonOf(error) },
    );
  }
}

/** How the wait of a delivery for its origin ended. `proven` means that the origin has answered 2xx. */
export type Turn = 'proven' | Entry;

/**
 * Deliveries that were read from the log and wait in memory because their origin has never answered 2xx. The first delivery
 * to an endpoint requests an attempt. All others wait for as long as a delivery may wait for a slot. If the first one is
 * answered 2xx, they continue at once. Therefore a new endpoint that works gets its envelopes without delay.
 */
export class TrialQueue {
  /** Waiting deliveries by endpoint. The first one in each list requested an attempt at most `maxWaitMs` ago. */
  readonly #lines = new Map<string, { readonly webhook: Asker; readonly end: (turn: Turn) => void }[]>();
  #waiting = 0;

  constructor(
    private readonly origins: Pick<UnprovenOrigins, 'enter' | 'isProven' | 'askAgainAt'>,
    private readonly maxWaitMs: number,
  ) {}

  /** Number of deliveries that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Waits until the delivery may be attempted, at most for `maxWaitMs`. */
  turn(webhook: Asker): Promise<Turn> {
    return new Promise((end) => {
      const { endpoint } = webhook;
      this.#waiting += 1;
      const line = this.#lines.get(endpoint);
      line?.push({ webhook, end });
      if (line !== undefined) return;
      this.#lines.set(endpoint, [{ webhook, end }]);
      setTimeout(() => this.#expire(endpoint), this.maxWaitMs);
      void this.#ask(webhook);
    });
  }

  /** Ends the wait of all deliveries to an origin that is now proven. */
  release(origin: string): void {
    for (const endpoint of this.#lines.keys())
      if (originOf(endpoint) === origin) for (const { end } of this.#take(endpoint, Infinity)) end('proven');
  }

  async #ask(webhook: Asker): Promise<void> {
    const { endpoint } = webhook;
    const entry = await this.origins.enter(webhook);
    if (this.origins.isProven(endpoint)) return this.release(originOf(endpoint));
    for (const { end } of this.#take(endpoint, 1)) end(entry);
  }

  #expire(endpoint: string): void {
    for (const { webhook, end } of this.#take(endpoint, Infinity))
      end({ mayGo: false, at: this.origins.askAgainAt(webhook), hasTurn: false });
    this.#lines.delete(endpoint);
  }

  #take(endpoint: string, count: number): { readonly webhook: Asker; readonly end: (turn: Turn) => void }[] {
    const taken = this.#lines.get(endpoint)?.splice(0, count) ?? [];
    this.#waiting -= taken.length;
    return taken;
  }
}

/** Converts a time of the monotonic clock to the clock of the host. */
const byWall = (at: number): number => Math.ceil(at - performance.now() + Date.now());
