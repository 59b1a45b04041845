import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { LogReader } from '../log/log-reader.js';
import { CatchUpCandidates, PASS_OFFSETS, passMembers } from './catch-up-candidates.js';
import { CatchUpDeliveries } from './catch-up-deliveries.js';
import { CatchUpPass, PassEnded, type PassKind } from './catch-up-pass.js';
import { PassReader } from './pass-reader.js';

const LOOK_MS = 500;

/**
 * Delivers replays, and the backlogs of parked webhooks once these may get deliveries again. The owner of a partition reads
 * the log again in passes. One pass serves several webhooks or replays, and begins at the lowest offset that one of them
 * needs. The deliveries have the same concurrency limits as live deliveries, and are throttled so that live deliveries come
 * first. A delivery that fails becomes a job. A webhook with too many waiting jobs is left out until some of them have
 * ended.
 */
@Injectable()
export class CatchUp implements OnApplicationBootstrap {
  readonly #passes = new Map<string, Promise<void>>();
  /** By name: range key that was first in the last pass. The next pass begins with another one. */
  readonly #first = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    @Inject(LogReader) private readonly reader: Pick<LogReader, 'catchUpPartitions'>,
    private readonly candidates: CatchUpCandidates,
    private readonly passes: PassReader,
    private readonly deliveries: CatchUpDeliveries,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  /** Stops dispatching, and resolves when all passes have stopped reading. */
  async close(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.deliveries.wake();
    await Promise.all(this.#passes.values());
  }

  /** Starts passes. Each partition has at most one pass of each kind at a time. */
  look(): void {
    if (this.#isStopped || this.candidates.isReadingPaused) return;
    for (const partition of this.reader.catchUpPartitions()) {
      this.passes.tellExpired(partition);
      if (partition.webhookIds.length > 0) this.#begin(partition, 'parked');
      if (partition.replayKeys.length > 0) this.#begin(partition, 'replays');
    }
  }

  #begin(partition: CatchUpPartition, kind: PassKind): void {
    const { topic, partition: number, shard = 0 } = partition.at;
    const name = `${topic}/${number}/${shard} ${kind}`;
    if (this.#passes.has(name)) return;
    const pass = this.#pass(partition, kind, name)
      .catch((error: unknown) => this.#failed(partition, error))
      .finally(() => this.#passes.delete(name));
    this.#passes.set(name, pass);
  }

  #failed({ at }: CatchUpPartition, error: unknown): void {
    if (error instanceof PassEnded) return;
    this.log.warn('parking.paused', 'The worker cannot read the backlog of parked webhooks and tries again', {
      ...at,
      reason: reasonOf(error),
    });
  }

  async #pass(partition: CatchUpPartition, kind: PassKind, name: string): Promise<void> {
    await this.candidates.refresh();
    const keys = kind === 'parked' ? partition.webhookIds : partition.replayKeys;
    const { first, members, from } = passMembers(this.candidates.of(partition, keys), this.#first.get(name));
    if (first !== undefined) this.#first.set(name, first);
    const to = Math.max(...[...members.values()].map((range) => range.to ?? partition.head));
    if (!(from < to)) return;
    const end = Math.min(to, partition.emptyTo, from + PASS_OFFSETS);
    const pass = new CatchUpPass(partition, kind, members, keys.length === 1, () => this.#isStopped);
    await this.passes.read(pass, from, end, (batch) => this.deliveries.handOut(pass, batch));
  }
}
