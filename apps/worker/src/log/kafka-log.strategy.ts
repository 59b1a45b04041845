import { setImmediate as nextTurn } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { assignerOf, gapsIn, GroupConsumer, isOtherDeployment, Kafka, logRecordOf } from '@relay/kafka';
import type { BatchInHand, FetchedBatch, KafkaMessage } from '@relay/kafka';
import { reasonOf } from '@relay/telemetry';
import { isObservable, lastValueFrom } from 'rxjs';
import { BatchPart, HeartbeatWait, LOG_CHUNK, type LogChunk } from './batch.js';
import { FetchWatch } from './consumer-watch.js';
import { LogReader } from './log-reader.js';
import type { PartitionReader } from './partition-reader.js';
import { ReadingPause } from './reading-pause.js';
import { pause } from './timing.js';

/** A change of event types is followed after this time in ms, and up to as much again: several changes are followed together, and the
 * workers one after the other. */
const FOLLOW_MS = 2_000;
/** Records looked up in one round trip. */
const CHUNK = 200;

export const KAFKA_LOG_OPTIONS = Symbol('options of the Kafka log');

export interface KafkaLogOptions {
  groupId: string;
  /** Unique for each deployment: the name of its registry's topic. */
  deployment: string;
  topics: () => readonly string[];
  /** Calls back after each change of the topics. */
  onTopics: (changed: () => void) => void;
  /** Called when the consumer has stopped for good, so that the process must be restarted. */
  onDead: (reason: string) => void;
}

/**
 * Nest transport over `GroupConsumer` with manual commits. Nest's own Kafka server reads message by message,
 * stops a partition at a throwing handler, parses values and renames the group. After every rejoin it starts again from
 * the committed offset. Here `LogReader` decides where each partition is read from, and a batch is done
 * when its records are handed out, not when they are settled.
 */
@Injectable()
export class KafkaLogStrategy extends Server implements CustomTransportStrategy {
  readonly #consumer: GroupConsumer;
  #stopping = false;
  #isRejoining = false;
  #topics: readonly string[] = [];
  #following: NodeJS.Timeout | undefined;
  /** Looked up once, because Nest builds the pattern's route again at each look-up. */
  #handler: MessageHandler | null | undefined;

  constructor(
    kafka: Kafka,
    private readonly reader: LogReader,
    @Inject(ReadingPause) private readonly readingPause: Pick<ReadingPause, 'end'>,
    @Inject(KAFKA_LOG_OPTIONS) private readonly options: KafkaLogOptions,
    private readonly watch: FetchWatch,
  ) {
    super();
    this.#consumer = new GroupConsumer(kafka, {
      groupId: options.groupId,
      assigner: assignerOf(options.deployment),
      // After a broker's crash the member joins as a new one, and the group waits this long for the old one.
      // Deliveries must continue within 10 s.
      sessionTimeout: 8_000,
      rebalanceTimeout: 20_000,
      heartbeatInterval: 1_000,
      // An idle fetch returns this often, and lets a seek, a heartbeat or a stop proceed.
      maxWaitTimeInMs: 500,
      metadataMaxAge: 60_000,
      concurrency: 16,
      retry: { initialRetryTime: 200, maxRetryTime: 1_000, retries: 5, restartOnFailure: async () => !this.#stopping },
    });
  }

  async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      await this.#start();
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }

  async #start(): Promise<void> {
    const progressed = (): void => this.watch.progressed(performance.now());
    this.reader.use(this.#consumer);
    this.#consumer.hear({
      fetched: progressed,
      joined: (assignment) => {
        progressed();
        this.reader.assigned(assignment);
      },
      beaten: () => {
        progressed();
        this.reader.heartbeat();
      },
      rebalancing: () => this.reader.rebalancing(),
      // Without this, a range that ends behind a batch without records waits for ever.
      foundEmpty: (topic, partition, from, end) => {
        const readers = this.reader.reading(topic, partition);
        for (const reader of readers) reader.foundEmpty(from, end);
        // If the log begins with a batch without records, the worker owns the partition from there and reads it again.
        if (readers.length === 0) void this.reader.ready(topic, partition, from);
      },
      crashed: (error, isFinal) => {
        const { groupId } = this.options;
        const reason = isOtherDeployment(error)
          ? `the consumer group ${groupId} has workers of another deployment: give each deployment a KAFKA_CONSUMER_GROUP of its own`
          : error.message;
        this.reader.stopped(reason);
        if (isFinal && !this.#stopping) this.options.onDead(reason);
      },
      batch: (inHand) => this.#batch(inHand),
    });
    this.#topics = this.options.topics();
    await this.#consumer.connect(this.#topics);
    await this.#consumer.run();
    this.options.onTopics(() => this.#follow());
  }

  /** Joins the group again once event types with topics of their own were added. */
  #follow(): void {
    clearTimeout(this.#following);
    const isNew = this.options.topics().some((topic) => !this.#topics.includes(topic));
    if (isNew && !this.#stopping)
      this.#following = setTimeout(() => void this.#joinAgain(), FOLLOW_MS * (1 + Math.random()));
  }

  async #joinAgain(): Promise<void> {
    const topics = this.options.topics();
    this.#isRejoining = true;
    try {
      this.reader.rebalancing();
      await this.#consumer.resubscribe(topics);
      this.#topics = topics;
    } catch (error) {
      this.options.onDead(`the worker did not join its group with the new topics: ${reasonOf(error)}`);
    } finally {
      this.#isRejoining = false;
    }
    this.#follow();
  }

  /** Whether running batches end early. */
  get #isLeaving(): boolean {
    return this.#stopping || this.#isRejoining;
  }

  async #batch(payload: BatchInHand): Promise<void> {
    const { batch } = payload;
    const [first] = batch.messages;
    if (first === undefined) return;
    const wait = new HeartbeatWait(payload, () => this.#isLeaving);
    const { topic, partition } = batch;
    let readers = this.reader.reading(topic, partition);
    if (readers.length === 0) readers = await this.#owned(batch, wait);
    if (readers.length === 0) {
      // The member fetches the same batch again at once. Without a pause, that is a busy loop while the partition may not be read.
      await wait.for(pause(1_000));
      wait.throwFault();
      return;
    }
    if (payload.isStale()) return;
    const all = readers.map((reader) => new BatchPart(reader, wait));
    const parts = all.some((part) => part.isDoubtful(batch)) ? await this.#compared(batch, all, wait) : all;
    if (parts.length === 0 || payload.isStale()) return;
    if (Number(first.offset) > nextOf(parts) && !(await this.#isWhole(payload, parts, wait))) return;
    await this.#handOutAll(payload, parts, wait);
  }

  /** Returns the readers that own the partition by now; none if it may not be read. */
  async #owned({ topic, partition, messages }: FetchedBatch, wait: HeartbeatWait): Promise<readonly PartitionReader[]> {
    const owned = await wait.for(this.reader.ready(topic, partition, Number(messages[0]?.offset)));
    wait.throwFault();
    return owned?.value ?? [];
  }

  /**
   * Asks Kafka whether it lost records that were read, for each part that this batch makes doubtful. @returns the parts that go
   * on
   */
  async #compared(
    batch: FetchedBatch,
    parts: readonly BatchPart[],
    wait: HeartbeatWait,
  ): Promise<readonly BatchPart[]> {
    const doubtful = parts.filter((part) => part.isDoubtful(batch));
    const compared = doubtful.map(async (part) => {
      await this.reader.compare(part.reader);
      part.compared(batch);
    });
    await wait.for(Promise.all(compared));
    wait.throwFault();
    return parts.filter(({ goesOn }) => goesOn);
  }

  /**
   * Whether the log holds no record between the last one read and this batch. If it may hold one, seeks to the first offset not
   * read.
   */
  async #isWhole(payload: BatchInHand, parts: readonly BatchPart[], wait: HeartbeatWait): Promise<boolean> {
    const { batch } = payload;
    const { topic, partition } = batch;
    const next = nextOf(parts);
    const low = (await wait.for(this.reader.lowest(topic, partition)))?.value ?? 0;
    wait.throwFault();
    if (payload.isStale() || parts.some((part) => !part.goesOn)) return false;
    if (nextOf(parts) !== next) return false;
    // Kafka deleted what was before its first record.
    const first = Math.max(next, low);
    if (!isGap(batch, first)) {
      this.#consumer.seek(topic, partition, first);
      return false;
    }
    return true;
  }

  /** Hands out the batch in chunks. */
  async #handOutAll(payload: BatchInHand, all: readonly BatchPart[], wait: HeartbeatWait): Promise<void> {
    const { batch } = payload;
    let parts = all;
    const gaps = gapsIn(batch, Math.min(...all.map(({ reader, next }) => reader.catchUpPartition()?.emptyTo ?? next)));
    for (let from = 0; from < batch.messages.length; from += CHUNK) {
      const messages = batch.messages.slice(from, from + CHUNK);
      const last = messages.at(-1) as KafkaMessage;
      const due = parts.filter(({ next }) => next <= Number(last.offset));
      if (due.length > 0) {
        const next = nextOf(due);
        await this.#handOut(due, messages, wait);
        parts = parts.filter(({ goesOn }) => goesOn);
        if (this.#isLeaving || payload.isStale() || parts.length === 0) return;
        if (nextOf(parts) <= Number(last.offset)) return;
        const passed = gaps.filter((gap) => gap.from >= next && gap.from < Number(last.offset));
        this.reader.overtaken(batch.topic, batch.partition, passed);
      }
      payload.resolveOffset(last.offset);
      if (last === batch.messages.at(-1))
        for (const { reader } of parts) reader.foundEmpty(Number(last.offset) + 1, Number(batch.lastOffset()) + 1);
      await payload.heartbeat();
    }
  }

  /** Hands the records to the fan-out. @throws a failed heartbeat */
  async #handOut(due: readonly BatchPart[], messages: readonly KafkaMessage[], wait: HeartbeatWait): Promise<void> {
    const next = nextOf(due);
    const paused = this.readingPause.end();
    if (paused !== undefined) await wait.for(paused);
    wait.throwFault();
    const parts = due.filter(({ goesOn }) => goesOn);
    if (this.#isLeaving || parts.length === 0) return;
    for (const part of parts) part.begin(messages, parts.length > 1);
    const chunk: LogChunk = { records: messages.map(logRecordOf).filter((record) => record.offset >= next), parts };
    const handler = (this.#handler ??= this.getHandlerByPattern(LOG_CHUNK));
    if (handler === null) throw new Error(`Nothing handles ${LOG_CHUNK}`);
    const result: unknown = await handler(chunk);
    if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
    // HTTP requests are written in the check phase of the event loop. Without this turn, the member prepares its next fetch before
    // that.
    await nextTurn();
    wait.throwFault();
  }

  /** Stops handing out but stays in the group, so that this worker can flush the records that run. */
  close(): void {
    this.#stopping = true;
    clearTimeout(this.#following);
    try {
      this.#consumer.pause(this.#topics);
    } catch {
      // The consumer is not in its group, before its first join or while Kafka is away: nothing is being read.
    }
  }

  /** Leaves the group. */
  async leave(): Promise<void> {
    await this.#consumer.leave();
  }

  on(): void {
    throw new Error('KafkaLogStrategy has no events of its own');
  }

  unwrap<T>(): T {
    return this.#consumer as T;
  }
}

/** Returns the lowest offset that one of the parts has to hand out. */
const nextOf = (parts: readonly BatchPart[]): number => Math.min(...parts.map(({ next }) => next));

/**
 * Whether the log holds no record from `first` to a batch that begins beyond it. A fetch made at or before `first` proves it: the
 * offsets are Kafka's own markers, or records that compaction removed. The member fetches beyond `first` at the group's commit after
 * a join, or at a seek that was requested before the join.
 */
const isGap = ({ fetchedOffset }: FetchedBatch, first: number): boolean => Number(fetchedOffset) <= first;
