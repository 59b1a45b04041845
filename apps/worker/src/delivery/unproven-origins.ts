import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { KnownOrigins, originOf, RedisOriginProofs, TurnLine, type OriginProofs, type Turn } from '@relay/breaker';
import { UnprovenJobs } from '@relay/jobs';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

/** How often the origins that other processes have proven are read. */
const LOOK_MS = 1_000;
/** An attempt ends by its deadline; a turn that lasts this much longer was lost with its worker. */
const LEASE_MARGIN_MS = 5_000;
/** An endpoint that asked for no turn for this long is forgotten. */
const REMEMBERED_MS = 60_000;

/** Whether an attempt may be made: freely, in the turn of an origin that has never answered 2xx, or later. */
export type Admission =
  | { readonly kind: 'free' }
  | { readonly kind: 'turn'; readonly token: string }
  | { readonly kind: 'wait'; readonly ms: number };

export const FREE: Admission = { kind: 'free' };

/**
 * Keeps the relay from flooding a host that never asked for deliveries. An origin that has never answered 2xx gets
 * one attempt at a time and one a second, over all webhooks, partners and workers. Its first 2xx proves it:
 * deliveries in memory are released and its jobs become due at once. From then on only its breakers limit it. While
 * the store is away, origins that this worker does not know to be proven get nothing.
 */
@Injectable()
export class UnprovenOrigins implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #known = new KnownOrigins();
  /** Endpoints that asked for turns lately. */
  readonly #asking = new Map<string, { readonly line: TurnLine; at: number }>();
  #onProof: (origin: string) => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(
    @Inject(RedisOriginProofs) private readonly proofs: OriginProofs,
    @Inject(UnprovenJobs)
    private readonly jobs: Pick<UnprovenJobs, 'hold' | 'drop' | 'origins' | 'letGo' | 'forget'>,
    private readonly log: ThrottledLog,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'DELIVERY_TIMEOUT'>,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  /** @param released called with each origin that is found to have answered 2xx */
  onProof(released: (origin: string) => void): void {
    this.#onProof = released;
  }

  /** Whether the origin is known to have answered 2xx. Read from memory. */
  isProven(endpoint: string): boolean {
    return this.#known.has(originOf(endpoint), Date.now());
  }

  /**
   * Asks for an attempt, whose end `ended` must report. Never rejects.
   * @param jobId the job that asks; it is not held any more when it gets a turn
   */
  async enter(endpoint: string, jobId?: string): Promise<Admission> {
    if (this.isProven(endpoint)) return FREE;
    const origin = originOf(endpoint);
    const { line } = this.#lineOf(endpoint);
    const token = randomUUID();
    try {
      const turn = await this.proofs.turn({
        origin,
        endpoint,
        token,
        leaseMs: this.config.DELIVERY_TIMEOUT + LEASE_MARGIN_MS,
      });
      if (turn.kind === 'granted' && jobId !== undefined) await this.jobs.drop(origin, jobId);
      return this.#admission(origin, line, token, turn);
    } catch (error) {
      this.#away(error);
      return { kind: 'wait', ms: LOOK_MS };
    }
  }

  /** Reports how an attempt ended, or that none was made. Never rejects. */
  async ended(endpoint: string, admission: Admission, how: 'delivered' | 'failed' | 'unused'): Promise<void> {
    const origin = originOf(endpoint);
    if (how === 'delivered' && this.#known.isReportDue(origin, Date.now())) return this.#prove(origin);
    if (admission.kind !== 'turn') return;
    try {
      await this.proofs.giveBack(origin, admission.token, how !== 'unused');
    } catch (error) {
      this.#away(error);
    }
  }

  /** Epoch milliseconds at which a delivery that got no turn is due again. Each call reserves the next turn. */
  reserve(endpoint: string): number {
    return this.#lineOf(endpoint).line.reserve(Date.now());
  }

  /** As `reserve` for a delivery whose turn is further away than `waitMs`; undefined when it should ask for a turn. */
  behind(endpoint: string, waitMs: number): number | undefined {
    const line = this.#asking.get(endpoint)?.line;
    return line?.isBehind(Date.now() + waitMs) === true ? this.reserve(endpoint) : undefined;
  }

  /**
   * Notes a job that is due at its turn, so that a proof makes it due at once. Called after the job is stored. Never
   * rejects.
   */
  async hold(endpoint: string, jobId: string, at: number): Promise<void> {
    try {
      await this.jobs.hold(originOf(endpoint), jobId, at);
    } catch (error) {
      this.#away(error);
    }
  }

  /** Endpoints with deliveries whose origins have never answered 2xx. */
  *unproven(): Generator<string> {
    for (const endpoint of this.#asking.keys()) if (!this.isProven(endpoint)) yield endpoint;
  }

  /** Reads which origins answered 2xx elsewhere, and releases their jobs. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.#forget(Date.now());
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

  #admission(origin: string, line: TurnLine, token: string, turn: Turn): Admission {
    switch (turn.kind) {
      case 'proven':
        this.#learn(origin, turn.at);
        return FREE;
      case 'granted':
        return { kind: 'turn', token };
      case 'refused':
        line.promised(Date.now() + turn.waitMs, turn.rivals);
        return { kind: 'wait', ms: turn.waitMs };
      default:
        return turn satisfies never;
    }
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
    for (const endpoint of this.#asking.keys()) if (originOf(endpoint) === origin) this.#asking.delete(endpoint);
    this.#onProof(origin);
  }

  #lineOf(endpoint: string): { readonly line: TurnLine; at: number } {
    let asking = this.#asking.get(endpoint);
    if (asking === undefined) this.#asking.set(endpoint, (asking = { line: new TurnLine(), at: 0 }));
    asking.at = Date.now();
    return asking;
  }

  #forget(now: number): void {
    for (const [endpoint, { line, at }] of this.#asking)
      if (now - at > REMEMBERED_MS && line.isForgettable(now)) this.#asking.delete(endpoint);
  }

  #away(error: unknown): void {
    this.log.warn(
      'origins.away',
      'The worker cannot read or store in Redis which origins have answered; new origins get nothing until it can',
      { reason: reasonOf(error) },
    );
  }
}
