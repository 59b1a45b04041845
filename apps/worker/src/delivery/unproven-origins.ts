import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { KnownOrigins, originOf, RedisOriginProofs, TurnLine, type OriginProofs, type Turn } from '@relay/breaker';
import { UnprovenJobs } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '../worker.config.js';

/** How often it is looked whether another process has seen an origin answer. */
const LOOK_MS = 1_000;
/** An attempt ends by its deadline; a turn that is held for this much longer was lost with its worker. */
const LEASE_MARGIN_MS = 5_000;
/** An endpoint that asked for no turn for so long is remembered no more. */
const REMEMBERED_MS = 60_000;

/** Whether an attempt may be made: as ever, in the turn of an origin that has never answered 2xx, or later. */
export type Admission =
  | { readonly kind: 'free' }
  | { readonly kind: 'turn'; readonly token: string }
  | { readonly kind: 'wait'; readonly ms: number };

export const FREE: Admission = { kind: 'free' };

/**
 * Keeps the relay from flooding somebody who never asked: an origin that has never answered 2xx gets one attempt at a time,
 * and one a second, over all webhooks, partners and workers. Its first 2xx ends that: what waits here is released, and the
 * jobs come at once. From then on nothing is asked for it, and what it does is the affair of its breaker. While the store
 * is away origins that are not known to have answered get nothing.
 */
@Injectable()
export class UnprovenOrigins implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #known = new KnownOrigins();
  /** By endpoint, those that asked for turns lately. */
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

  /** Who holds deliveries in memory is told of each origin that is found to have answered 2xx. */
  onProof(released: (origin: string) => void): void {
    this.#onProof = released;
  }

  /** Whether the origin is known to have answered 2xx, without asking anybody. */
  isProven(endpoint: string): boolean {
    return this.#known.has(originOf(endpoint), Date.now());
  }

  /**
   * Asks for an attempt; its end is to be told by `ended`. Never rejects.
   * @param jobId the job that asks, which waits for no turn any more when it gets one
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

  /** How an attempt ended, or that none was made. Never rejects. */
  async ended(endpoint: string, admission: Admission, how: 'delivered' | 'failed' | 'unused'): Promise<void> {
    const origin = originOf(endpoint);
    if (how === 'delivered' && this.#known.isWorthTelling(origin, Date.now())) return this.#prove(origin);
    if (admission.kind !== 'turn') return;
    try {
      await this.proofs.giveBack(origin, admission.token, how !== 'unused');
    } catch (error) {
      this.#away(error);
    }
  }

  /** The time at which a delivery that got no turn is to come back: each call reserves the next. */
  reserve(endpoint: string): number {
    return this.#lineOf(endpoint).line.reserve(Date.now());
  }

  /** The same for a delivery that would have to wait for longer than this; undefined when it is to ask. */
  behind(endpoint: string, waitMs: number): number | undefined {
    const line = this.#asking.get(endpoint)?.line;
    return line?.isBehind(Date.now() + waitMs) === true ? this.reserve(endpoint) : undefined;
  }

  /** To be called when the job of such a delivery is stored, due at that time. Never rejects. */
  async hold(endpoint: string, jobId: string, at: number): Promise<void> {
    try {
      await this.jobs.hold(originOf(endpoint), jobId, at);
    } catch (error) {
      this.#away(error);
    }
  }

  /** Endpoints whose origins have never answered 2xx, of those that get deliveries. */
  *unproven(): Generator<string> {
    for (const endpoint of this.#asking.keys()) if (!this.isProven(endpoint)) yield endpoint;
  }

  /** Learns which origins answered 2xx elsewhere, and lets go what waits for them. */
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
      this.log.info('origin.proven', 'An origin has answered 2xx for the first time; its deliveries go on', {
        origin,
      });
      await this.jobs.letGo(origin);
    } catch (error) {
      this.#known.knowUntold(origin, Date.now());
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
      'Which origins have answered cannot be read or told for now; new ones get nothing until it can',
      { reason: reasonOf(error) },
    );
  }
}
