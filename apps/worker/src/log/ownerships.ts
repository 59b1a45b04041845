import type { LogPartition, ReadTo } from '@relay/progress';
import { type Log, reasonOf, ThrottledLog } from '@relay/telemetry';
import { isAnotherTopic, lossOf, type LogLoss, type LossOf } from './log-loss.js';
import type { LogBounds, TopicIds } from './log-reader-options.js';
import type { PartitionReader } from './partition-reader.js';
import { cached, pause } from './timing.js';

/** Functions of `LogReader` that this class calls. */
interface Reading {
  /** Moves the consumer so that the reader gets its `next` offset. */
  seek(reader: PartitionReader): void;
  /**
   * Forgets the committed offset of a partition. The partition is read again from an earlier offset, because Kafka has lost
   * records and the log became shorter.
   */
  forget(reader: PartitionReader): void;
  /**
   * Whether Redis has the mark that is set as soon as it has the progress of every partition that was read. If the mark
   * exists, Redis has not lost all its data since then.
   */
  wasKnown(at: LogPartition): Promise<boolean>;
  /** Whether this worker is stopping. */
  isOver(): boolean;
}

/**
 * Takes the ownership of partitions and finds the offset at which each one is read. Each partition runs one step at a time.
 */
export class Ownerships {
  readonly #owning = new Map<PartitionReader, Promise<void>>();
  readonly #refused = new RefusedPartitions();
  readonly #log: ThrottledLog;
  readonly #committedOf: (topic: string) => ReturnType<LogBounds['fetchOffsets']>;
  readonly #boundsOf: (topic: string) => ReturnType<LogBounds['fetchTopicOffsets']>;

  constructor(
    private readonly bounds: LogBounds,
    private readonly topicIds: TopicIds,
    groupId: string,
    private readonly log: Log,
    private readonly reading: Reading,
  ) {
    this.#log = new ThrottledLog(log);
    this.#committedOf = cached((topic) => bounds.fetchOffsets({ groupId, topics: [topic] }), 2_000);
    this.#boundsOf = cached((topic) => bounds.fetchTopicOffsets(topic), 2_000);
  }

  /** Description of the fault if a partition could not be owned for a while, or undefined if there is none. */
  get fault(): string | undefined {
    return this.#refused.fault;
  }

  /** Whether a step for this reader is in progress. Taking the ownership ends with the seek to the first offset. */
  isOwning(reader: PartitionReader): boolean {
    return this.#owning.has(reader);
  }

  own(reader: PartitionReader): void {
    void this.#apart(reader, () => this.#become(reader));
  }

  /** Waits until the partition is owned. @param offset start of the log, from which to read if Redis knows no progress */
  async ready(reader: PartitionReader, offset: number): Promise<void> {
    while (this.#owning.has(reader)) await this.#owning.get(reader);
    if (reader.state !== 'owning' || !reader.isAlone) return;
    await this.#apart(reader, async () => {
      await reader.own(offset);
      // The first record may come from an earlier topic with this name, before its id was read. So it is fetched again.
      this.reading.seek(reader);
    });
  }

  left(reader: PartitionReader): void {
    this.#refused.over(reader.at);
  }

  /**
   * Compares the log if its topic has a new id. In that case the topic was created again, which may show in no other way.
   */
  async look(reader: PartitionReader): Promise<void> {
    const topicId = await this.topicIds.of(reader.at.topic).catch(() => undefined);
    if (reader.state === 'reading' && isAnotherTopic(reader.read, topicId)) await this.compare(reader);
  }

  /**
   * Checks whether Kafka lost records that were already read. It is called after a rebalance, and before a batch whose log
   * ends too early or has a new leader. Nothing is dispatched in the meantime. If no records were lost, the partition
   * continues unchanged.
   */
  compare(reader: PartitionReader): Promise<void> {
    return this.#apart(reader, async () => {
      const topicId = await this.topicIds.of(reader.at.topic);
      const loss = reader.state === 'reading' ? await this.#lossOf(reader, reader.read, topicId) : undefined;
      if (reader.state === 'reading' && loss === undefined) {
        reader.isOf(topicId);
        // The readers of other shards may be ahead of this reader. Seeking back gives it its own records.
        if (!reader.isAlone) this.reading.seek(reader);
        return;
      }
      reader.doubt();
      await this.#become(reader);
    });
  }

  /**
   * Repeats a step for a partition until it succeeds. If another step is already in progress, returns its promise instead.
   */
  #apart(reader: PartitionReader, step: () => Promise<void>): Promise<void> {
    const running = this.#owning.get(reader);
    if (running !== undefined) return running;
    const owning = this.#repeat(reader, step).finally(() => this.#owning.delete(reader));
    this.#owning.set(reader, owning);
    return owning;
  }

  async #become(reader: PartitionReader): Promise<void> {
    if (reader.state === 'left') return;
    // The topic id must be read before the first record is fetched.
    const topicId = await this.topicIds.of(reader.at.topic);
    reader.isOf(topicId);
    let loss: LogLoss | undefined;
    const lost: LossOf = async (read) => {
      const found = await this.#lossOf(reader, read, topicId);
      loss ??= found;
      return found;
    };
    const next = (await reader.own(undefined, lost)) ?? (await this.#begin(reader));
    if (next === undefined) return;
    this.reading.seek(reader);
    if (loss === undefined) return;
    this.reading.forget(reader);
    this.#tell(reader, loss, next);
  }

  #tell({ at }: PartitionReader, { from, to, end, topicIds }: LogLoss, readFrom: number): void {
    if (topicIds === undefined)
      this.log.error(
        'log.shortened',
        'Kafka lost records that it had acknowledged, or the topic was created anew; reading goes on where the first new record may stand',
        { ...at, from, to, end, readFrom },
      );
    else if (to > 0)
      this.log.error(
        'log.recreated',
        'The topic was deleted and created anew; all of its new log is read, and records of the old one that nobody had read or that waited in it are gone',
        { ...at, read: to, topicId: topicIds[0] },
      );
  }

  #lossOf({ at }: PartitionReader, read: ReadTo, topicId: string | undefined): Promise<LogLoss | undefined> {
    return lossOf(this.bounds, this.#boundsOf, at, read, topicId);
  }

  /**
   * Starts a partition whose progress Redis does not know. If the group has committed nothing, the partition is new.
   * Otherwise, Redis either lost its data, or was restored from a backup that is older than the first record of the
   * partition. After such a restore, all of the log is read again. A partition that this worker has started but never
   * committed counts as new, because Redis has only lost its latest writes.
   */
  async #begin(reader: PartitionReader): Promise<number | undefined> {
    const { topic, partition } = reader.at;
    const [offsets] = await this.#committedOf(topic);
    const committed = Number(offsets?.partitions.find((entry) => entry.partition === partition)?.offset ?? -1);
    if (committed <= 0) return reader.next === undefined && reader.isAlone ? undefined : this.#beginAgain(reader);
    if (await this.reading.wasKnown(reader.at)) {
      const readFrom = await this.#beginAgain(reader, committed);
      if (readFrom !== undefined)
        this.log.warn(
          'log.begun_again',
          'Redis was restored from a copy that is older than the first record of a partition; the worker reads all of its log again',
          { topic, partition, committed, readFrom },
        );
      return readFrom;
    }
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

  async #beginAgain(reader: PartitionReader, readTo = 0): Promise<number | undefined> {
    const { topic, partition } = reader.at;
    const bounds = await this.bounds.fetchTopicOffsets(topic);
    const known = bounds.find((entry) => entry.partition === partition);
    return known === undefined ? undefined : reader.own(Number(known.low), undefined, readTo);
  }

  /**
   * Repeats the step until it succeeds or the partition is assigned to another worker. Redis or Kafka may be unavailable.
   */
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
        if (reader.state === 'left' || this.reading.isOver()) break;
      }
    }
    this.#refused.over(reader.at);
  }
}

/**
 * Milliseconds after which a failing ownership counts as a fault. Redis may be unavailable for some seconds now and then.
 */
const FAULT_AFTER_MS = 20_000;

interface Refusal {
  readonly since: number;
  readonly reason: string;
}

/**
 * Partitions that cannot be owned at the moment. For example, Redis may refuse all writes because it cannot save them or has
 * become a replica, or it may not answer.
 */
class RefusedPartitions {
  readonly #refusals = new Map<LogPartition, Refusal>();

  begun(at: LogPartition): void {
    this.#refusals.set(at, { since: Date.now(), reason: 'there is no answer yet' });
  }

  failed(at: LogPartition, reason: string): void {
    this.#refusals.set(at, { since: this.#refusals.get(at)?.since ?? Date.now(), reason });
  }

  over(at: LogPartition): void {
    this.#refusals.delete(at);
  }

  /** Description of the fault, or undefined if no partition has failed for long. */
  get fault(): string | undefined {
    for (const [{ topic, partition }, { since, reason }] of this.#refusals)
      if (Date.now() - since > FAULT_AFTER_MS)
        return `${topic}/${partition} cannot be owned: ${reason}; tried again every second`;
    return undefined;
  }
}
