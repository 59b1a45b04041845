import { Inject, Injectable } from '@nestjs/common';
import type { OffsetGap } from '@relay/kafka';
import { type LogPartition, PartitionProgress } from '@relay/progress';
import { Log, ThrottledLog } from '@relay/telemetry';
import { Gauge, Registry } from 'prom-client';
import { KAFKA_ADMIN } from '../platform/tokens.js';
import type { CatchUpPartition } from './catch-up-partition.js';
import { KnownPartitions, LogCommits, type PartitionReaders } from './log-commits.js';
import {
  LOG_READER_OPTIONS,
  type LogBounds,
  type LogControls,
  type LogReaderOptions,
  TopicIds,
} from './log-reader-options.js';
import { Ownerships } from './ownerships.js';
import { PartitionReader, type PartitionState } from './partition-reader.js';

/**
 * All partitions that this worker reads. A partition is fetched once and has one reader for each shard. A reader handles the
 * envelopes of its shard, and has its own ownership and progress (docs/adr/0028). Nothing of a partition is dispatched
 * before the worker owns it. Reading begins at the high water in Redis, not at the offset that is committed in Kafka. If
 * Redis loses its latest writes, it loses marks, jobs and high water together, so the high water still fits. The committed
 * offset might be too high (docs/adr/0003).
 */
@Injectable()
export class LogReader {
  /** Readers by topic and partition. There is one for each shard. */
  readonly #partitions = new Map<string, PartitionReaders>();
  /** The readers of `#partitions` in one list, for what runs many times a second. */
  #readers: readonly PartitionReader[] = [];
  /** The readers that had records in flight a moment ago. */
  #busy = new Set<PartitionReader>();
  #flushes = 0;
  #compared = 0;
  readonly #leaving = new Set<PartitionReader>();
  readonly #ownerships: Ownerships;
  readonly #commits: LogCommits;
  readonly #known: KnownPartitions;
  #controls: LogControls | undefined;
  #timers: NodeJS.Timeout[] = [];
  #joined = false;
  #lastHeartbeat = 0;
  #stoppedBy: string | undefined;

  constructor(
    @Inject(PartitionProgress) private readonly progress: PartitionProgress,
    @Inject(KAFKA_ADMIN) private readonly bounds: LogBounds,
    @Inject(TopicIds) topicIds: TopicIds,
    @Inject(Log) private readonly log: Log,
    @Inject(LOG_READER_OPTIONS) private readonly options: LogReaderOptions,
  ) {
    this.#commits = new LogCommits(new ThrottledLog(log));
    this.#known = new KnownPartitions(bounds, progress, options);
    this.#ownerships = new Ownerships(bounds, topicIds, options.groupId, log, {
      seek: ({ at }) => this.#seek(at),
      forget: ({ at }) => this.#commits.forget(this.#of(at)),
      wasKnown: (at) => progress.wasKnown(at),
      isOver: () => this.#timers.length === 0,
    });
  }

  use(controls: LogControls): void {
    this.#controls = controls;
    this.#timers = [
      setInterval(() => void this.#flushBusy(), this.options.flushEveryMs),
      setInterval(() => void this.#compareSome(), this.options.compareEveryMs),
      setInterval(() => void this.commit(), this.options.commitEveryMs),
      setInterval(() => this.#askAgain(), this.options.compareEveryMs),
      setInterval(() => void this.look(), this.options.compareEveryMs),
      setInterval(() => void this.#known.remember(), this.options.compareEveryMs),
    ];
  }

  /** Description of the fault that keeps this worker from reading, or undefined if there is none. */
  get fault(): string | undefined {
    if (this.#stoppedBy !== undefined) return `the consumer stopped: ${this.#stoppedBy}; it is being restarted`;
    if (!this.#joined) return 'the consumer has not joined its group yet';
    if (Date.now() - this.#lastHeartbeat > 20_000) return 'Kafka has not answered a heartbeat for 20 s';
    const lost = this.#readers.find((reader) => reader.state === 'lost');
    if (lost === undefined) return this.#ownerships.fault;
    return `Redis knows no progress of ${nameOf(lost.at)} although it was read before: restore Redis from its append-only file, or run \`relay recover\`; the worker then continues by itself`;
  }

  /** Returns the number of partitions in a state, by shard. Empty if there is only one shard. */
  countsOf(state: PartitionState): readonly number[] {
    const { shards = 1 } = this.options;
    if (shards === 1) return [];
    const all = [...this.#partitions.values()];
    return Array.from(
      { length: shards },
      (_, shard) => all.filter((readers) => readers[shard]?.state === state).length,
    );
  }

  #of({ topic, partition }: LogPartition): PartitionReaders {
    return this.#partitions.get(`${topic}/${partition}`) ?? [];
  }

  /**
   * Returns the readers of a partition that can dispatch now. A reader that has just become the owner cannot do so until the
   * consumer was moved to its first offset.
   */
  reading(topic: string, partition: number): PartitionReaders {
    const able = this.#of({ topic, partition }).filter(
      (reader) => isReading(reader) && !this.#ownerships.isOwning(reader),
    );
    for (const reader of able) this.#busy.add(reader);
    return able;
  }

  /**
   * Waits until a reader of the partition can dispatch.
   * @param offset start of the log, from which to read if Redis knows nothing of the partition
   */
  async ready(topic: string, partition: number, offset: number): Promise<PartitionReaders> {
    const ready = this.#of({ topic, partition }).map(async (reader) => {
      await this.#ownerships.ready(reader, offset);
      if (!isReading(reader)) throw new Error(`${nameOf(reader.at)} is ${reader.state}`);
    });
    await Promise.any(ready).catch(() => undefined);
    return this.reading(topic, partition);
  }

  /**
   * Checks whether Kafka lost records that were already read. If an older check is still in progress, its result is
   * returned. A reader that `reading` returns has no older check, so Kafka is always asked after its batch was fetched.
   */
  compare(reader: PartitionReader): Promise<void> {
    return this.#ownerships.compare(reader);
  }

  /** Handles a new assignment. Partitions that were assigned before continue unchanged. */
  assigned(assignment: Readonly<Record<string, readonly number[]>>): void {
    this.#joined = true;
    this.#stoppedBy = undefined;
    this.heartbeat();
    const keys = new Set<string>();
    for (const [topic, partitions] of Object.entries(assignment)) {
      for (const partition of partitions) {
        const key = `${topic}/${partition}`;
        keys.add(key);
        if (!this.#partitions.has(key)) this.#partitions.set(key, this.#readersOf({ topic, partition }));
        const stay = this.#of({ topic, partition }).filter(isReading);
        this.#seek({ topic, partition });
        for (const reader of stay) void this.compare(reader);
      }
    }
    for (const [key, readers] of this.#partitions) {
      if (keys.has(key)) continue;
      this.#partitions.delete(key);
      for (const reader of readers) {
        reader.leave();
        this.#ownerships.left(reader);
        this.#leaving.add(reader);
      }
    }
    this.#readers = [...this.#partitions.values()].flat();
    this.log.info('log.assigned', 'The consumer group assigned partitions to this worker', { partitions: keys.size });
    for (const reader of this.#readers) if (reader.state === 'owning') this.#ownerships.own(reader);
  }

  #readersOf(at: LogPartition): PartitionReaders {
    const { shards = 1 } = this.options;
    if (shards === 1) return [new PartitionReader(at, this.progress, this.log)];
    return Array.from(
      { length: shards },
      (_, shard) => new PartitionReader({ ...at, shard, shards }, this.progress, this.log),
    );
  }

  /** Moves the consumer to the lowest offset that one of the partition's readers has not dispatched yet. */
  #seek(at: LogPartition): void {
    const next = this.#of(at)
      .filter(isReading)
      .map((reader) => reader.next);
    if (next.length > 0) this.#controls?.seek(at.topic, at.partition, Math.min(...next));
  }

  rebalancing(): void {
    this.log.info('log.rebalancing', 'The consumer group is rebalancing; running deliveries continue');
  }

  stopped(reason: string): void {
    this.#stoppedBy = reason;
  }

  /**
   * Records a successful heartbeat, which proves that this worker is still a member of the group. Only now may it take
   * doubtful partitions again.
   */
  heartbeat(): void {
    this.#lastHeartbeat = Date.now();
    this.#stoppedBy = undefined;
    for (const reader of this.#readers) if (reader.state === 'doubtful') this.#ownerships.own(reader);
  }

  /**
   * Confirms the ownership of each partition after Redis was reconnected. Redis may have lost its latest writes, including
   * jobs of records that are settled here. For a partition that is moving to another worker, this check is impossible, so
   * this worker stops writing. The new owner reads the records without a mark again.
   * @param shard shard that was reconnected; undefined for all shards
   */
  reconnected(shard?: number): void {
    this.#known.doubt(shard);
    const isOfIt = ({ at }: PartitionReader): boolean => shard === undefined || at.shard === shard;
    for (const reader of this.#leaving) if (isOfIt(reader)) this.#leaving.delete(reader);
    for (const reader of this.#readers.filter(isOfIt)) {
      reader.doubt();
      if (reader.state === 'doubtful') this.#ownerships.own(reader);
    }
  }

  /**
   * Checks whether a topic was deleted and created again. A consumer that stays in its group may not notice that.
   */
  async look(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => this.#ownerships.look(reader)));
  }

  /** Tries to take lost partitions again. This succeeds after Redis was restored or `relay recover` has ended. */
  #askAgain(): void {
    for (const reader of this.#readers) if (reader.state === 'lost') this.#ownerships.own(reader);
  }

  /** Returns the first offset that still exists in the partition, or 0 if Kafka does not answer. */
  async lowest(topic: string, partition: number): Promise<number> {
    const all = await this.bounds.fetchTopicOffsets(topic).catch(() => []);
    return Number(all.find((entry) => entry.partition === partition)?.low ?? 0);
  }

  /** Reports gaps in the offsets, whose records Kafka deleted before they were read. */
  overtaken(topic: string, partition: number, gaps: readonly OffsetGap[]): void {
    const [first, last] = [gaps[0], gaps.at(-1)];
    if (first === undefined || last === undefined) return;
    const records = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
    this.options.expired?.(records);
    this.log.error(
      'log.expired',
      "Kafka's retention or compaction deleted records before the worker read them; the envelopes are lost, reading continues after them",
      { topic, partition, from: first.from, to: last.to, records },
    );
  }

  /** Returns all partitions that may dispatch, for the catch-up of their parked webhooks and replays. */
  catchUpPartitions(): CatchUpPartition[] {
    return this.#readers.flatMap((reader) => reader.catchUpPartition() ?? []);
  }

  /** Writes the results of all partitions since the last flush. */
  flush(compare = false): Promise<void> {
    for (const reader of this.#leaving) if (reader.over) this.#leaving.delete(reader);
    this.#busy = new Set(this.#readers.filter((reader) => reader.running > 0 || !reader.flushed));
    return this.#write(compare ? this.#readers : this.#busy, compare);
  }

  /**
   * Runs 50 times a second, so most runs look only at the readers that had records in flight a moment ago. Only a catch-up
   * has results for another reader.
   */
  #flushBusy(): Promise<void> {
    this.#flushes += 1;
    return this.#flushes % FLUSHES_PER_LOOK === 0 ? this.flush() : this.#write(this.#busy);
  }

  /** Compares the positions of some readers with Redis. The next calls compare the others in turn. */
  #compareSome(): Promise<void> {
    const from = this.#compared < this.#readers.length ? this.#compared : 0;
    this.#compared = from + COMPARED_AT_ONCE;
    return this.#write(this.#readers.slice(from, this.#compared), true);
  }

  async #write(readers: Iterable<PartitionReader>, compare = false): Promise<void> {
    const due = [...readers, ...this.#leaving].filter((reader) => compare || !reader.flushed);
    await Promise.all(due.map((reader) => reader.flush(compare)));
  }

  /** Commits the offsets of all partitions. @param all true for the last commit before the worker stops */
  async commit(all = false): Promise<void> {
    if (this.#controls !== undefined) await this.#commits.write([...this.#partitions.values()], all, this.#controls);
  }

  /** Makes the last writes and the last commit before the worker stops. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.flush();
    await this.flush();
    const committed = this.commit(true);
    // Releases the partitions, so that the next owner can begin at once, even if Kafka does not answer the commit.
    for (const reader of this.#readers) reader.leave();
    await Promise.all([committed, this.flush()]);
  }
}

/** A comparison is a command of Redis for each reader. A worker with more readers than this compares them in turn. */
const COMPARED_AT_ONCE = 256;
/** Number of flushes after which one looks at all readers. */
const FLUSHES_PER_LOOK = 10;

const isReading = (reader: PartitionReader): reader is PartitionReader & { readonly next: number } =>
  reader.state === 'reading' && reader.next !== undefined;

const nameOf = ({ topic, partition, shard }: LogPartition): string =>
  `${topic}/${partition}${shard === undefined ? '' : ` in shard ${shard}`}`;

const STATES = ['lost', 'doubtful'] as const;

/**
 * Gauge of the partitions that are assigned to this worker but not read, by shard. They are counted at each scrape. It has
 * no value if there is only one shard, because the health check reports the fault then.
 */
@Injectable()
export class ShardPartitionsGauge {
  constructor(registry: Registry, @Inject(LogReader) reader: Pick<LogReader, 'countsOf'>) {
    registry.registerMetric(
      new Gauge({
        name: 'relay_shard_partitions',
        help: 'Partitions of this worker whose records of the shard are not read, because their progress is lost or doubtful: take sum().',
        labelNames: ['shard', 'state'],
        registers: [],
        collect() {
          this.reset();
          for (const state of STATES)
            for (const [shard, count] of reader.countsOf(state).entries())
              this.set({ shard: String(shard), state }, count);
        },
      }),
    );
  }
}
