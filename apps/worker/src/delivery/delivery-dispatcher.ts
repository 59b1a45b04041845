import { deliveryId, Gate, type GateLimits } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { newJob, untilStored, type DeadLetterReason, type DeliveryJob, type RetryQueue } from '@relay/retry';
import type { ThrottledLog } from '@relay/telemetry';
import type { OpenedWebhook, Webhook } from '@relay/webhooks';
import type { StoreAgain } from '../log/log-chunk.js';
import type { Attempts } from './attempts.js';
import type { Breakers } from './breakers.js';
import { FREE, type Admission, type UnprovenOrigins } from './unproven-origins.js';
import { TrialQueue } from './trial-queue.js';

/** A delivery whose first attempt is made straight from the log. */
export interface StraightDelivery {
  webhook: Webhook;
  record: EnvelopeRecord;
  /** Of a replay; 0 for what comes. */
  series?: number;
  /** It waited in the log, or is of a replay. */
  isCaughtUp?: true;
  /** Called once, when it was delivered or when its own job or dead letter is stored; `repeat` stores that again. */
  settled(repeat?: StoreAgain): void;
}

export interface DispatchBounds {
  /** Straight deliveries that run, wait or are being stored. */
  load: number;
  /**
   * Of these, how many wait for their endpoint. Small: a healthy endpoint takes so many within the bounded wait, so
   * under load the reader is slowed instead of the queue filled, which would cost several times as much.
   */
  waiting: number;
}

/**
 * Makes first attempts straight from the log, each endpoint within its share. What fails, or waits too long for its
 * endpoint, becomes a job; a delivery is settled only when the store has confirmed that job. Nothing here throws or
 * gives up: while Redis is away what cannot be stored stays running, and the reader pauses.
 */
export class DeliveryDispatcher {
  readonly #gate: Gate<StraightDelivery>;
  readonly #probation: UnprovenOrigins | undefined;
  readonly #tryOuts: TrialQueue<StraightDelivery> | undefined;
  readonly #maxWaitMs: number;
  readonly #waitingForRoom: (() => void)[] = [];
  #expiry: NodeJS.Timeout | undefined;
  #beats: NodeJS.Timeout | undefined;
  /** Straight deliveries that run, wait or are being stored. */
  #load = 0;
  #cameAt = -Infinity;

  constructor(
    limits: GateLimits,
    private readonly bounds: DispatchBounds,
    private readonly attempts: Pick<Attempts, 'make'>,
    private readonly queue: RetryQueue,
    private readonly log: ThrottledLog,
    private readonly breakers?: Pick<Breakers, 'lookAgainAt' | 'ended'>,
    /** Whether a registration is still as it was when it was matched. */
    private readonly isCurrent: (webhook: Webhook) => boolean = () => true,
    probation?: UnprovenOrigins,
  ) {
    this.#gate = new Gate(limits);
    this.#probation = probation;
    this.#maxWaitMs = limits.maxWaitMs;
    if (probation === undefined) return;
    const ends = {
      run: (delivery: StraightDelivery, turn: Admission) => this.#tryOut(delivery, turn, probation),
      offer: (delivery: StraightDelivery) => this.#offer(delivery),
      store: (delivery: StraightDelivery, at: number) => void this.#storeUnproven(delivery, at, probation),
    };
    const tryOuts = new TrialQueue<StraightDelivery>(probation, ends, limits.maxWaitMs);
    probation.onProof((origin) => tryOuts.release(origin));
    this.#tryOuts = tryOuts;
  }

  get load(): number {
    return this.#load;
  }

  /** For how long nothing has come, in milliseconds; what is caught up does not count. */
  get idleMs(): number {
    return performance.now() - this.#cameAt;
  }

  get #hasRoom(): boolean {
    return this.#load < this.bounds.load && this.#gate.waiting + (this.#tryOuts?.waiting ?? 0) < this.bounds.waiting;
  }

  /** Undefined while there is room for another delivery, else the promise of it. */
  room(): Promise<void> | undefined {
    if (this.#hasRoom) return undefined;
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  dispatch(delivery: StraightDelivery): void {
    this.#load += 1;
    this.#beat();
    if (delivery.isCaughtUp !== true) this.#cameAt = performance.now();
    const { endpoint } = delivery.webhook;
    const at = this.#againAt(delivery) ?? this.breakers?.lookAgainAt(endpoint, Date.now());
    if (at !== undefined) void this.#store(delivery, jobOf(delivery), at);
    else if (this.#probation?.isProven(endpoint) === false) this.#hold(delivery, this.#probation);
    else this.#offer(delivery);
  }

  #offer(delivery: StraightDelivery): void {
    const now = steady();
    const { endpoint } = delivery.webhook;
    const at = byWall(this.#gate.behind(endpoint, now));
    if (at !== undefined) void this.#store(delivery, jobOf(delivery), at);
    else if (this.#gate.offer(delivery, endpoint, now) === 'run') void this.#attempt(delivery);
    else this.#watch();
  }

  /** Its origin is not known to have answered 2xx: one is tried while the others wait. */
  #hold(delivery: StraightDelivery, probation: UnprovenOrigins): void {
    const { endpoint } = delivery.webhook;
    const at = probation.behind(endpoint, this.#maxWaitMs);
    if (at === undefined) this.#tryOuts?.hold(delivery, endpoint);
    else void this.#storeUnproven(delivery, at, probation);
  }

  async #tryOut(delivery: StraightDelivery, turn: Admission, probation: UnprovenOrigins): Promise<void> {
    const { endpoint } = delivery.webhook;
    const now = steady();
    const at = this.#againAt(delivery) ?? this.breakers?.lookAgainAt(endpoint, Date.now());
    if (at === undefined && this.#gate.tryTake(endpoint, now)) return this.#attempt(delivery, turn);
    await probation.ended(endpoint, turn, 'unused');
    await this.#store(delivery, jobOf(delivery), at ?? byWall(this.#gate.backlogAt(endpoint, now)));
  }

  /** As a job that comes at once when its origin answers 2xx. */
  async #storeUnproven(delivery: StraightDelivery, at: number, probation: UnprovenOrigins): Promise<void> {
    const job = jobOf(delivery);
    await this.#store(delivery, job, at);
    await probation.hold(delivery.webhook.endpoint, deliveryId(job), at);
  }

  /** A slot for a queued attempt; when there is none, the time to come again. */
  take(endpoint: string): { taken: true } | { taken: false; at: number } {
    this.#beat();
    const now = steady();
    return this.#gate.tryTake(endpoint, now)
      ? { taken: true }
      : { taken: false, at: byWall(this.#gate.backlogAt(endpoint, now)) };
  }

  /** Endpoints with attempts within the last minute, and whether they are slow or failing. */
  endpoints(): Iterable<readonly [endpoint: string, isTroubled: boolean]> {
    return this.#gate.known();
  }

  giveBack(endpoint: string, durationMs: number, ended?: 'succeeded' | 'failed' | 'unused'): void {
    for (const next of this.#gate.release(endpoint, durationMs, steady(), ended)) void this.#run(next);
    this.#watch();
  }

  /** Lets the gate notice what is slow, and how late we are ourselves, as long as there is anything. */
  #beat(): void {
    this.#beats ??= setInterval(() => {
      for (const next of this.#gate.tick(steady())) void this.#run(next);
      if (this.#gate.size > 0) return;
      clearInterval(this.#beats);
      this.#beats = undefined;
    }, Gate.beatMs).unref();
  }

  /**
   * Now, where the registration was changed or deleted since it was matched: as a job it is looked up again, so that the
   * old address gets neither body nor credential.
   */
  #againAt({ webhook }: StraightDelivery): number | undefined {
    return this.isCurrent(webhook) ? undefined : Date.now();
  }

  async #run(delivery: StraightDelivery): Promise<void> {
    const { webhook } = delivery;
    // It may have waited here while its endpoint's breaker opened, or the endpoint asked for rest.
    const at = this.#againAt(delivery) ?? this.breakers?.lookAgainAt(webhook.endpoint, Date.now());
    if (at !== undefined) {
      this.giveBack(webhook.endpoint, 0, 'unused');
      return this.#store(delivery, jobOf(delivery), at);
    }
    return this.#attempt(delivery);
  }

  async #attempt(delivery: StraightDelivery, admission: Admission = FREE): Promise<void> {
    const { webhook, record } = delivery;
    const { envelope } = record;
    let opened: OpenedWebhook;
    try {
      opened = await webhook.opened();
    } catch {
      // Redis is away, or the registration has changed since: as a job it is looked up again.
      this.giveBack(webhook.endpoint, 0, 'unused');
      void this.#probation?.ended(webhook.endpoint, admission, 'unused');
      return this.#store(delivery, jobOf(delivery), Date.now());
    }
    const attempted = await this.attempts.make(webhook, opened, {
      webhookId: webhook.id,
      envelopeId: envelope.id,
      eventType: envelope.type,
      hash: envelope.contentHash,
      series: delivery.series ?? 0,
      attempts: 0,
      acceptedAt: record.acceptedAt,
      waitedSince: record.waitedSince,
      traceparent: record.traceparent,
      body: envelope.bytes,
    });
    const { disposition, durationMs, failure } = attempted;
    // First: what gets the slot now must know that the endpoint asked for rest.
    this.breakers?.ended(webhook.endpoint, attempted, Date.now());
    this.giveBack(webhook.endpoint, durationMs, attempted.failed ? 'failed' : 'succeeded');
    void this.#probation?.ended(webhook.endpoint, admission, disposition.kind === 'delivered' ? 'delivered' : 'failed');
    const after = (): DeliveryJob => ({
      ...jobOf(delivery),
      attempts: 1,
      tries: [...attempted.tries],
      ...(failure === undefined ? {} : { lastFailure: failure }),
    });
    switch (disposition.kind) {
      case 'delivered':
        return this.#end(delivery);
      case 'retry':
        return this.#store(delivery, after(), disposition.at);
      case 'dead-letter':
        return this.#bury(delivery, after(), disposition.reason);
      default:
        return disposition satisfies never;
    }
  }

  #store(delivery: StraightDelivery, job: DeliveryJob, at: number): Promise<void> {
    return this.#settleBy(delivery, () => this.queue.add({ job, at }), deliveryId(job));
  }

  #bury(delivery: StraightDelivery, job: DeliveryJob, reason: DeadLetterReason): Promise<void> {
    const diedAt = Date.now();
    return this.#settleBy(delivery, () => this.queue.bury({ ...job, reason, diedAt }), deliveryId(job));
  }

  async #settleBy(delivery: StraightDelivery, add: StoreAgain, jobId: string): Promise<void> {
    await untilStored(add, this.log, { jobId });
    this.#end(delivery, add);
  }

  #end(delivery: StraightDelivery, repeat?: StoreAgain): void {
    this.#load -= 1;
    delivery.settled(repeat);
    if (!this.#hasRoom) return;
    // Who is woken may have nothing to dispatch and wakes nobody; where nothing runs no other end would come.
    for (const wake of this.#waitingForRoom.splice(0, this.#load === 0 ? Infinity : 1)) wake();
  }

  /** Turns what waited too long for its endpoint into jobs, in bulk, at times computed from the endpoint's backlog. */
  #watch(): void {
    const next = this.#gate.nextExpiry;
    if (next === undefined || this.#expiry !== undefined) return;
    this.#expiry = setTimeout(
      () => {
        this.#expiry = undefined;
        for (const { item, at } of this.#gate.expire(steady())) void this.#store(item, jobOf(item), byWall(at));
        this.#watch();
      },
      Math.max(5, next - steady()),
    );
  }
}

/** The gate's clock, epoch milliseconds as well: that of the host is set back now and then, and what waits would wait for as long. */
const steady = (): number => performance.timeOrigin + performance.now();

/** What that clock will show then, as the host's shows it. */
function byWall(at: number): number;
function byWall(at: number | undefined): number | undefined;
function byWall(at: number | undefined): number | undefined {
  return at === undefined ? undefined : Math.ceil(at - steady() + Date.now());
}

const jobOf = ({ webhook, record, series }: StraightDelivery): DeliveryJob => newJob(webhook, record, series);
