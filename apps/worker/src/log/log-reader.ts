import { Inject, Injectable } from '@nestjs/common';
import { PartitionProgress, type ReadTo } from '@relay/progress';
import { Log, reasonOf, ThrottledLog } from '@relay/telemetry';
import { KAFKA_ADMIN } from '../platform/tokens.js';
import { pause } from './pause.js';
import type { CatchUpPartition } from './catch-up-partition.js';
import { LogCommits } from './log-commits.js';
import { lossOf, type LogLoss } from './log-loss.js';
import { LOG_READER_OPTIONS, type LogBounds, type LogControls, type LogReaderOptions } from './log-reader-options.js';
import { PartitionReader } from './partition-reader.js';
import { RefusedPartitions } from './refused-partitions.js';
import { cached } from './cached.js';

/**
 * All partitions that this worker reads. Owns a partition before any of it is handed out, and begins at the high
 * water in Redis, never at the committed offset: when Redis loses its latest writes, marks, jobs and high water go
 * back together and Kafka's offset does not (docs/adr/0003).
 */
@Injectable()
export class LogReader {
  readonly #readers = new Map<string, PartitionReader>();
  readonly #leaving = new Set<PartitionReader>();
  readonly #owning = new Map<PartitionReader, Promise<void>>();
  readonly #commits: LogCommits;
  readonly #log: ThrottledLog;
  readonly #committedOf: (topic: string) => ReturnType<LogBounds['fetchOffsets']>;
  readonly #boundsOf: (topic: string) => ReturnType<LogBounds['fetchTopicOffsets']>;
  #controls: LogControls | undefined;
  #timers: NodeJS.Timeout[] = [];
  #joined = false;
  #lastHeartbeat = 0;
  #stoppedBy: string | undefined;
  readonly #refused = new RefusedPartitions();

  constructor(
    @Inject(PartitionProgress) private readonly progress: PartitionProgress,
    @Inject(KAFKA_ADMIN) private readonly bounds: LogBounds,
    @Inject(Log) private readonly log: Log,
    @Inject(LOG_READER_OPTIONS) private readonly options: LogReaderOptions,
  ) {
    this.#log = new ThrottledLog(log);
    this.#commits = new LogCommits(this.#log);
    this.#committedOf = cached((topic) => bounds.fetchOffsets({ groupId: options.groupId, topics: [topic] }), 2_000);
    this.#boundsOf = cached((topic) => bounds.fetchTopicOffsets(topic), 2_000);
  }

  use(controls: LogControls): void {
    this.#controls = controls;
    this.#timers = [
      setInterval(() => void this.flush(), this.options.flushEveryMs),
      setInterval(() => void this.flush(true), this.options.compareEveryMs),
      setInterval(() => void this.commit(), this.options.commitEveryMs),
      setInterval(() => this.#askAgain(), this.options.compareEveryMs),
    ];
  }

  /** The fault that keeps this worker from reading, in words; undefined while it reads. */
  get fault(): string | undefined {
    if (this.#stoppedBy !== undefined) return `the consumer stopped: ${this.#stoppedBy}; it is being restarted`;
    if (!this.#joined) return 'the consumer has not joined its group yet';
    if (Date.now() - this.#lastHeartbeat > 20_000) return 'Kafka has not answered a heartbeat for 20 s';
    const lost = [...this.#readers.values()].find((reader) => reader.state === 'lost');
    if (lost === undefined) return this.#refused.fault;
    return `Redis knows no progress of ${lost.at.topic}/${lost.at.partition} although it was read before: restore Redis from its append-only file, or run \`relay recover\`; the worker then continues by itself`;
  }

  /** The partition's reader if it can hand out at once: an ownership ends with the seek to where it begins. */
  reading(topic: string, partition: number): PartitionReader | undefined {
    const reader = this.#readers.get(`${topic}/${partition}`);
    if (reader === undefined || this.#owning.has(reader)) return undefined;
    return reader.state === 'reading' && reader.next !== undefined ? reader : undefined;
  }

  /** Waits until the partition is owned. @param offset where its log begins when the store knows nothing of it */
  async ready(topic: string, partition: number, offset: number): Promise<PartitionReader | undefined> {
    const reader = this.#readers.get(`${topic}/${partition}`);
    if (reader === undefined) return undefined;
    while (this.#owning.has(reader)) await this.#owning.get(reader);
    if (reader.state === 'owning') await this.#repeat(reader, () => reader.own(offset));
    return this.reading(topic, partition);
  }

  /** A new assignment: partitions that stay continue unchanged. */
  assigned(assignment: Readonly<Record<string, readonly number[]>>): void {
    this.#joined = true;
    this.#stoppedBy = undefined;
    this.heartbeat();
    const keys = new Set<string>();
    for (const [topic, partitions] of Object.entries(assignment)) {
      for (const partition of partitions) {
        const key = `${topic}/${partition}`;
        keys.add(key);
        const stays = this.#readers.get(key);
        if (stays?.next !== undefined && stays.state === 'reading') {
          this.#controls?.seek(topic, partition, stays.next);
          void this.compare(stays);
        }
        if (stays === undefined)
          this.#readers.set(key, new PartitionReader({ topic, partition }, this.progress, this.log));
      }
    }
    for (const [key, reader] of this.#readers) {
      if (keys.has(key)) continue;
      this.#readers.delete(key);
      reader.leave();
      this.#refused.over(reader.at);
      this.#leaving.add(reader);
    }
    this.log.info('log.assigned', 'The consumer group assigned partitions to this worker', { partitions: keys.size });
    for (const reader of this.#readers.values()) if (reader.state === 'owning') this.#own(reader);
  }

  rebalancing(): void {
    this.log.info('log.rebalancing', 'The consumer group is rebalancing; running deliveries continue');
  }

  stopped(reason: string): void {
    this.#stoppedBy = reason;
  }

  /** A successful heartbeat proves that we are still a member: only now may a refused partition be owned again. */
  heartbeat(): void {
    this.#lastHeartbeat = Date.now();
    this.#stoppedBy = undefined;
    for (const reader of this.#readers.values()) if (reader.state === 'doubtful') this.#own(reader);
  }

  /**
   * Redis was reconnected: it may have gone back in time and lost jobs of records that are settled here. A partition
   * that left cannot be owned again to find out, so it writes nothing more: its new owner reads again what is not
   * marked.
   */
  reconnected(): void {
    this.#leaving.clear();
    for (const reader of this.#readers.values()) {
      reader.doubt();
      if (reader.state === 'doubtful') this.#own(reader);
    }
  }

  /** A lost partition continues as soon as Redis knows it again: Redis was restored, or a recovery has ended. */
  #askAgain(): void {
    for (const reader of this.#readers.values()) if (reader.state === 'lost') this.#own(reader);
  }

  #own(reader: PartitionReader): void {
    void this.#apart(reader, () => this.#become(reader));
  }

  /**
   * Looks whether Kafka lost records that were read, after a join and after a batch whose log ends too early. Nothing is
   * handed out meanwhile. A partition whose log is whole goes on as it is.
   */
  compare(reader: PartitionReader): Promise<void> {
    return this.#apart(reader, async () => {
      const loss = reader.state === 'reading' ? await this.#lossOf(reader, reader.read) : undefined;
      if (reader.state === 'reading' && loss === undefined) return;
      reader.doubt();
      await this.#become(reader);
    });
  }

  /** One such step of a partition at a time, until it succeeds. */
  #apart(reader: PartitionReader, step: () => Promise<void>): Promise<void> {
    const running = this.#owning.get(reader);
    if (running !== undefined) return running;
    const owning = this.#repeat(reader, step).finally(() => this.#owning.delete(reader));
    this.#owning.set(reader, owning);
    return owning;
  }

  async #become(reader: PartitionReader): Promise<void> {
    if (reader.state === 'left') return;
    let loss: LogLoss | undefined;
    const lost = async (read: ReadTo): Promise<LogLoss | undefined> => {
      const found = await this.#lossOf(reader, read);
      loss ??= found;
      return found;
    };
    const next = (await reader.own(undefined, lost)) ?? (await this.#begin(reader));
    if (next === undefined) return;
    this.#controls?.seek(reader.at.topic, reader.at.partition, next);
    if (loss === undefined) return;
    this.#commits.forget(reader);
    const { from, to, end } = loss;
    this.log.error(
      'log.shortened',
      'Kafka lost records that it had acknowledged, or the topic was created anew; reading goes on where the first new record may stand',
      { ...reader.at, from, to, end, readFrom: next },
    );
  }

  #lossOf({ at }: PartitionReader, read: ReadTo): Promise<LogLoss | undefined> {
    return lossOf(this.bounds, this.#boundsOf, at, read);
  }

  /**
   * The store knows nothing of the partition. It is new, unless the group has committed something: then Redis was
   * lost. A partition that was begun here and never committed counts as new: Redis lost its beginning with its latest
   * writes.
   */
  async #begin(reader: PartitionReader): Promise<number | undefined> {
    const { topic, partition } = reader.at;
    const [offsets] = await this.#committedOf(topic);
    const committed = Number(offsets?.partitions.find((entry) => entry.partition === partition)?.offset ?? -1);
    if (committed <= 0) return reader.next === undefined ? undefined : this.#beginAgain(reader);
    if (reader.state !== 'lost') {
      reader.lose();
      this.log.error(
        'log.progress_lost',
        'Redis has no progress for a partition that was read before; the partition stays undelivered until Redis is restored or `relay recover` has run',
        { topic, partition, committed },
      );
    }
    return undefined;
  }

  async #beginAgain(reader: PartitionReader): Promise<number | undefined> {
    const { topic, partition } = reader.at;
    const bounds = await this.bounds.fetchTopicOffsets(topic);
    const known = bounds.find((entry) => entry.partition === partition);
    return known === undefined ? undefined : reader.own(Number(known.low));
  }

  /** The first offset that the partition's log still has; 0 when Kafka does not answer. */
  async lowest(topic: string, partition: number): Promise<number> {
    const all = await this.bounds.fetchTopicOffsets(topic).catch(() => []);
    return Number(all.find((entry) => entry.partition === partition)?.low ?? 0);
  }

  /** Retention deleted the records `[next, low)` before they were read. */
  overtaken(topic: string, partition: number, next: number, low: number): void {
    this.options.expired?.(low - next);
    this.log.error(
      'log.expired',
      "Kafka's retention deleted records before the worker read them; the envelopes are lost, reading continues after them",
      { topic, partition, from: next, to: low },
    );
  }

  /** Until it succeeds or the partition has left: Redis or Kafka may be away. */
  async #repeat(reader: PartitionReader, step: () => Promise<unknown>): Promise<void> {
    this.#refused.begun(reader.at);
    for (;;) {
      try {
        await step();
        break;
      } catch (error) {
        const failure = { ...reader.at, reason: reasonOf(error) };
        this.#refused.failed(reader.at, failure.reason);
        this.#log.warn('log.waiting', 'The worker cannot own a partition yet and tries again every second', failure);
        await pause(1_000);
        if (reader.state === 'left' || this.#timers.length === 0) break;
      }
    }
    this.#refused.over(reader.at);
  }

  /** The parked webhooks and replays of each partition from which records may be handed out. */
  catchUpPartitions(): CatchUpPartition[] {
    return [...this.#readers.values()].flatMap((reader) => reader.catchUpPartition() ?? []);
  }

  async flush(compare = false): Promise<void> {
    for (const reader of this.#leaving) if (reader.over) this.#leaving.delete(reader);
    // Most partitions have nothing to write most of the time: asking them 50 times a second must cost nothing.
    const readers = [...this.#readers.values(), ...this.#leaving].filter((reader) => compare || !reader.flushed);
    await Promise.all(readers.map((reader) => reader.flush(compare)));
  }

  /** Commits the offsets of our partitions. `all` is the last commit of a worker that stops. */
  async commit(all = false): Promise<void> {
    if (this.#controls !== undefined) await this.#commits.write([...this.#readers.values()], all, this.#controls);
  }

  /** The last flush and commit of a worker that stops. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.flush();
    await this.flush();
    await this.commit(true);
    // Releases the partitions, so that the next owner begins at once.
    for (const reader of this.#readers.values()) reader.leave();
    await this.flush();
  }
}
