import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { countDeliveries } from '@relay/jobs';
import { fullestOf, readMemory, type RedisMemory } from '@relay/metrics';
import { Shards } from '@relay/redis';
import { Log } from '@relay/telemetry';
import { Gauge, Registry } from 'prom-client';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

/** How full Redis and the queue are. */
export interface ReadingLoad {
  /** Bytes that Redis uses, and its `maxmemory` setting; a `max` of 0 means that Redis has no limit. */
  readonly memory: { readonly used: number; readonly max: number };
  /** Number of deliveries in the queue, both waiting and running. */
  readonly queued: number;
}

const PAUSE_MEMORY = 0.7;
const RESUME_MEMORY = 0.6;
const RESUME_QUEUE = 0.8;
/**
 * Share of `maxmemory` above which optional data, such as the history, is not written. It is well below `RESUME_MEMORY`,
 * because the history is trimmed only when it is written. While nothing is written, the history frees no memory.
 */
const SCARCE_MEMORY = 0.5;

/**
 * Returns the reason why reading must pause, in words; undefined if it may continue. Reading pauses before Redis is full,
 * and records then stay in the log. The levels for resuming are lower than the levels for pausing, so that reading does not
 * switch on and off rapidly.
 */
export function pauseFor(load: ReadingLoad, isPaused: boolean, queueLimit: number): string | undefined {
  const share = shareOf(load);
  if (share >= (isPaused ? RESUME_MEMORY : PAUSE_MEMORY))
    return `Redis uses ${Math.round(share * 100)} % of its maxmemory; resumes below ${RESUME_MEMORY * 100} %`;
  const resumeAt = Math.floor(queueLimit * RESUME_QUEUE);
  if (isPaused ? load.queued > resumeAt : load.queued > queueLimit)
    return `${load.queued} deliveries are queued; resumes at ${resumeAt}`;
  return undefined;
}

/** Whether optional data must not be written, so that the remaining memory is left for accepted envelopes. */
export const isScarce = (load: ReadingLoad): boolean => shareOf(load) > SCARCE_MEMORY;

const shareOf = ({ memory: { used, max } }: ReadingLoad): number => (max === 0 ? 0 : used / max);

/**
 * Reads how full Redis and the queue are. If a shard does not answer, its last known values are used, because it still has
 * its data and the other shards continue to fill.
 */
@Injectable()
export class LastLoad {
  readonly #memory: (RedisMemory | undefined)[] = [];
  readonly #queued: number[] = [];

  constructor(private readonly shards: Shards) {}

  /** @throws Error of Redis if no Redis server has ever answered */
  async read(): Promise<ReadingLoad> {
    const { all, connections } = this.shards;
    const readings = [
      ...connections.map(async (redis, index) => void (this.#memory[index] = await readMemory(redis))),
      ...all.map(async (shard, index) => void (this.#queued[index] = await countDeliveries(shard))),
    ];
    const failed = (await Promise.allSettled(readings)).find((reading) => reading.status === 'rejected');
    const known = this.#memory.filter((memory) => memory !== undefined);
    if (known.length === 0) throw failed?.reason;
    return { memory: fullestOf(known), queued: this.#queued.reduce((sum, count) => sum + (count ?? 0), 0) };
  }
}

const LOOK_MS = 1_000;

/**
 * Pauses reading while Redis or the queue is too full. Records then stay in the log, queued attempts continue, and the
 * worker stays ready. While the load cannot be read, the last decision applies.
 */
@Injectable()
export class ReadingPause implements OnApplicationBootstrap, OnModuleDestroy {
  #reason: string | undefined;
  #isScarce = false;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(LastLoad) private readonly load: Pick<LastLoad, 'read'>,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'QUEUE_LIMIT'>,
    @Inject(Log) private readonly log: Log,
    registry: Registry,
  ) {
    const gauge: Gauge = new Gauge({
      name: 'relay_reading_paused',
      help: '1 while no further records are read because Redis or the queue is filled too far.',
      registers: [registry],
      collect: (): void => gauge.set(this.#reason === undefined ? 0 : 1),
    });
  }

  onApplicationBootstrap(): void {
    const look = async (): Promise<void> => {
      await this.look().catch(() => undefined);
      if (this.#timer !== undefined) this.#timer = setTimeout(() => void look(), LOOK_MS);
    };
    this.#timer = setTimeout(() => void look());
  }

  onModuleDestroy(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  get isPaused(): boolean {
    return this.#reason !== undefined;
  }

  /** Whether Redis is so full that optional data must not be written. */
  get isMemoryScarce(): boolean {
    return this.#isScarce;
  }

  /** Returns a promise that resolves when reading resumes; undefined if reading is not paused. */
  end(): Promise<void> | undefined {
    if (this.#reason === undefined) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async look(): Promise<void> {
    const was = this.#reason;
    const load = await this.load.read();
    this.#reason = pauseFor(load, was !== undefined, this.config.QUEUE_LIMIT);
    this.#isScarce = isScarce(load);
    if (was === undefined && this.#reason !== undefined)
      this.log.warn('reading.paused', 'Reading is paused; records wait in the log, queued attempts continue', {
        reason: this.#reason,
      });
    if (was !== undefined && this.#reason === undefined) {
      this.log.info('reading.resumed', 'Redis and the queue have room again; reading continues');
      for (const resume of this.#waiting.splice(0)) resume();
    }
  }
}
