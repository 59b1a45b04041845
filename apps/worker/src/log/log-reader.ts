import { Inject, Injectable } from '@nestjs/common';
import { PartitionProgress } from '@relay/progress';
import { Log, reasonOf, ThrottledLog } from '@relay/telemetry';
import type { Admin, TopicPartitionOffsetAndMetadata } from 'kafkajs';
import { KAFKA_ADMIN } from '../platform/tokens.js';
import { pause } from './pause.js';
import type { CatchUpPartition } from './catch-up-partition.js';
import { PartitionReader } from './partition-reader.js';
import { RefusedPartitions } from './refused-partitions.js';
import { cached } from './cached.js';

/** What the transport lends: both throw while the consumer does not run. */
export interface LogControls {
  seek(topic: string, partition: number, offset: number): void;
  commit(offsets: TopicPartitionOffsetAndMetadata[]): Promise<void>;
}

/** The log's own bounds and the group's commits, asked when a partition is assigned. */
export type LogBounds = Pick<Admin, 'fetchOffsets' | 'fetchTopicOffsets'>;

export const LOG_READER_OPTIONS = Symbol('options of the log reader');

export interface LogReaderOptions {
  groupId: string;
  flushEveryMs: number;
  commitEveryMs: number;
  /** Idle partitions compare their position with the store this often: Redis may have gone back without a word. */
  compareEveryMs: number;
  /** So many records were deleted before they were read. */
  expired?: (records: number) => void;
}

/**
 * All partitions this worker reads. Owns a partition before anything of it is handed out and says where to read from:
 * at the high water kept in Redis, never at the committed offset, because marks, jobs and high water go back together
 * when Redis loses its latest writes and Kafka's offset does not (docs/adr/0003).
 */
@Injectable()
export class LogReader {
  readonly #readers = new Map<string, PartitionReader>();
  readonly #leaving = new Set<PartitionReader>();
  readonly #owning = new Map<PartitionReader, Promise<void>>();
  #committed = new WeakMap<PartitionReader, number>();
  readonly #ripening = new WeakMap<PartitionReader, number>();
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

  /** What keeps this worker from reading, in words; undefined while it reads. */
  get fault(): string | undefined {
    if (this.#stoppedBy !== undefined) return `the consumer stopped: ${this.#stoppedBy}; it is being restarted`;
    if (!this.#joined) return 'the consumer has not joined its group yet';
    if (Date.now() - this.#lastHeartbeat > 20_000) return 'Kafka has not answered a heartbeat for 20 s';
    const lost = [...this.#readers.values()].find((reader) => reader.state === 'lost');
    if (lost === undefined) return this.#refused.fault;
    return `Redis knows no progress of ${lost.at.topic}/${lost.at.partition} although it was read before: restore Redis from its append-only file, or run \`relay recover\`; the worker goes on by itself then`;
  }

  /** The partition's reader if it can hand out at once. */
  reading(topic: string, partition: number): PartitionReader | undefined {
    const reader = this.#readers.get(`${topic}/${partition}`);
    return reader?.state === 'reading' && reader.next !== undefined ? reader : undefined;
  }

  /** Waits until the partition is owned. `offset` is where its log begins when nothing is known of it. */
  async ready(topic: string, partition: number, offset: number): Promise<PartitionReader | undefined> {
    const reader = this.#readers.get(`${topic}/${partition}`);
    if (reader === undefined) return undefined;
    while (this.#owning.has(reader)) await this.#owning.get(reader);
    if (reader.state === 'owning') await this.#repeat(reader, () => reader.own(offset));
    return this.reading(topic, partition);
  }

  /** A new assignment: partitions that stay go on as they are. */
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
        if (stays?.next !== undefined && stays.state === 'reading') this.#controls?.seek(topic, partition, stays.next);
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
    this.log.info('log.assigned', 'The group gave this worker its partitions', { partitions: keys.size });
    for (const reader of this.#readers.values()) if (reader.state === 'owning') this.#own(reader);
  }

  rebalancing(): void {
    this.log.info('log.rebalancing', 'The group is being divided anew; what runs goes on');
  }

  stopped(reason: string): void {
    this.#stoppedBy = reason;
  }

  /** A successful heartbeat proves that the group still counts us in: only now may a refused partition be owned again. */
  heartbeat(): void {
    this.#lastHeartbeat = Date.now();
    this.#stoppedBy = undefined;
    for (const reader of this.#readers.values()) if (reader.state === 'doubtful') this.#own(reader);
  }

  /**
   * Redis was reconnected: it may have gone back in time, and lost jobs added for what is settled here. A partition that
   * left writes nothing more, since it cannot be owned again to find out: its new owner reads again what is not marked.
   */
  reconnected(): void {
    this.#leaving.clear();
    for (const reader of this.#readers.values()) {
      reader.doubt();
      if (reader.state === 'doubtful') this.#own(reader);
    }
  }

  /** A partition that was lost goes on as soon as Redis knows it again: it was restored, or a recovery has ended. */
  #askAgain(): void {
    for (const reader of this.#readers.values()) if (reader.state === 'lost') this.#own(reader);
  }

  #own(reader: PartitionReader): void {
    if (this.#owning.has(reader)) return;
    const { topic, partition } = reader.at;
    const owning = this.#repeat(reader, async () => {
      const next = (await reader.own()) ?? (await this.#begin(reader));
      if (next === undefined) return;
      const checked = await this.#inside(reader, next);
      this.#controls?.seek(topic, partition, checked);
    }).finally(() => this.#owning.delete(reader));
    this.#owning.set(reader, owning);
  }

  /**
   * Nothing is known of the partition: a new one, unless the group has committed something, then Redis was lost. One
   * that was begun here and never committed is as new: Redis lost its latest writes, the beginning among them.
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
        'Redis knows no progress of a partition that was read before; nothing of it is delivered until Redis is restored or `relay recover` has run',
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

  /** A high water beyond the log's end means the topic was made anew: its records are all unread. */
  async #inside(reader: PartitionReader, next: number): Promise<number> {
    const { topic, partition } = reader.at;
    type Bounds = Awaited<ReturnType<LogBounds['fetchTopicOffsets']>>;
    const boundsIn = (all: Bounds) => all.find((entry) => entry.partition === partition);
    const known = boundsIn(await this.#boundsOf(topic));
    if (known === undefined || next <= Number(known.high)) return next;
    // What is remembered may be older than the records read since: only a new answer tells that the log was made anew.
    const bounds = boundsIn(await this.bounds.fetchTopicOffsets(topic));
    if (bounds === undefined || next <= Number(bounds.high)) return next;
    this.log.warn(
      'log.recreated',
      'The log ends before the position kept in Redis, so it was made anew; reading from its beginning',
      { topic, partition, highWater: next },
    );
    return (await reader.own(Number(bounds.low), true)) ?? next;
  }

  /** The log begins after what is next: said where it is retention that was faster, not a mark of Kafka's own. */
  async overtaken(topic: string, partition: number, next: number): Promise<void> {
    const all = await this.bounds.fetchTopicOffsets(topic).catch(() => []);
    const low = Number(all.find((entry) => entry.partition === partition)?.low ?? 0);
    if (low <= next) return;
    this.options.expired?.(low - next);
    this.log.error(
      'log.expired',
      "Kafka's retention deleted records before they were read: nobody got their envelopes; reading goes on after them",
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
        this.#log.warn('log.waiting', 'A partition cannot be owned yet; trying again every second', failure);
        await pause(1_000);
        if (reader.state === 'left' || this.#timers.length === 0) break;
      }
    }
    this.#refused.over(reader.at);
  }

  /** What waits for parked webhooks in each partition that may be handed out by now. */
  catchUpPartitions(): CatchUpPartition[] {
    return [...this.#readers.values()].flatMap((reader) => reader.catchUpPartition() ?? []);
  }

  async flush(compare = false): Promise<void> {
    for (const reader of this.#leaving) if (reader.over) this.#leaving.delete(reader);
    // Most partitions have nothing to write most of the time: asking them 50 times a second must cost nothing.
    const readers = [...this.#readers.values(), ...this.#leaving].filter((reader) => compare || !reader.flushed);
    await Promise.all(readers.map((reader) => reader.flush(compare)));
  }

  /**
   * Tells Kafka how far we are, for its own lag tools and for telling a lost Redis; only partitions that are ours.
   * What is committed is one interval old, so that a Redis that loses its latest writes still knows every partition of
   * which something was committed; `all` for the commit of a worker that stops.
   */
  async commit(all = false): Promise<void> {
    const offsets = [...this.#readers.values()].flatMap((reader) => {
      const highWater = reader.highWater;
      if (highWater === undefined) return [];
      const ripe = all ? highWater : Math.min(highWater, this.#ripening.get(reader) ?? 0);
      this.#ripening.set(reader, highWater);
      if (ripe <= (this.#committed.get(reader) ?? 0)) return [];
      this.#committed.set(reader, ripe);
      return [{ ...reader.at, offset: String(ripe) }];
    });
    if (offsets.length === 0) return;
    try {
      await this.#controls?.commit(offsets);
    } catch (error) {
      this.#committed = new WeakMap();
      this.#log.warn(
        'log.commit_failed',
        'Offsets were not committed; the next commit covers them, nothing depends on it',
        { reason: reasonOf(error) },
      );
    }
  }

  /** The last flush and commit of a worker that stops. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.flush();
    await this.flush();
    await this.commit(true);
    // Releases what has ended, so that the next owner begins at once.
    for (const reader of this.#readers.values()) reader.leave();
    await this.flush();
  }
}
