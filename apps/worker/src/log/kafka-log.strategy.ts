import { Inject, Injectable } from '@nestjs/common';
import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { logRecordOf } from '@relay/kafka';
import { Kafka, type Batch, type Consumer, type EachBatchPayload, type KafkaMessage } from 'kafkajs';
import { isObservable, lastValueFrom } from 'rxjs';
import { BatchPart } from './batch-part.js';
import { pause } from './pause.js';
import { assignerOf, isOtherDeployment } from './deployment-assigner.adapter.js';
import { FetchWatch } from './fetch-watch.js';
import { LOG_CHUNK, type LogChunk } from './log-chunk.js';
import { LogReader } from './log-reader.js';
import { ReadingPause } from './reading-pause.js';
import { within } from './within.js';

/** Records looked up in one round trip. */
const CHUNK = 200;
/** A shard whose answer takes longer does not hold up the records of the others. */
const PATIENCE_MS = 1_000;

export const KAFKA_LOG_OPTIONS = Symbol('options of the Kafka log');

export interface KafkaLogOptions {
  groupId: string;
  /** Unique for each deployment: the name of its registry's topic. */
  deployment: string;
  topics: readonly string[];
  /** Called when the consumer has stopped for good, so that the process must be restarted. */
  onDead: (reason: string) => void;
}

/**
 * Nest transport over kafkajs `eachBatch` with manual commits. Nest's own Kafka server reads message by message,
 * stops a partition at a throwing handler, parses values and renames the group; kafkajs starts again from the
 * committed offset on every rejoin. Here `LogReader` decides where each partition is read from, and a batch is done
 * when its records are handed out, not when they are settled.
 */
@Injectable()
export class KafkaLogStrategy extends Server implements CustomTransportStrategy {
  readonly #consumer: Consumer;
  #stopping = false;
  /** Notices when this consumer gets no answers any more. */
  readonly watch = new FetchWatch();
  /** Looked up once: Nest makes the pattern's route again each time. */
  #handler: MessageHandler | null | undefined;

  constructor(
    kafka: Kafka,
    private readonly reader: LogReader,
    @Inject(ReadingPause) private readonly readingPause: Pick<ReadingPause, 'end'>,
    @Inject(KAFKA_LOG_OPTIONS) private readonly options: KafkaLogOptions,
  ) {
    super();
    this.#consumer = kafka.consumer({
      groupId: options.groupId,
      partitionAssigners: [assignerOf(options.deployment)],
      // After a broker's crash kafkajs joins as a new member, and the group waits this long for the old one.
      // Deliveries must continue within 10 s.
      sessionTimeout: 8_000,
      rebalanceTimeout: 20_000,
      heartbeatInterval: 1_000,
      // An idle fetch returns this often, and lets a seek, a heartbeat or a stop proceed.
      maxWaitTimeInMs: 500,
      allowAutoTopicCreation: false,
      metadataMaxAge: 60_000,
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
    const { FETCH, GROUP_JOIN, HEARTBEAT, CRASH, REBALANCING, END_BATCH_PROCESS } = this.#consumer.events;
    const progressed = (): void => this.watch.progressed(performance.now());
    this.#consumer.on(FETCH, progressed);
    const seek = (topic: string, partition: number, offset: number): void =>
      this.#consumer.seek({ topic, partition, offset: String(offset) });
    this.reader.use({ seek, commit: (offsets) => this.#consumer.commitOffsets(offsets) });
    this.#consumer.on(GROUP_JOIN, ({ payload }) => {
      progressed();
      this.reader.assigned(payload.memberAssignment);
    });
    this.#consumer.on(HEARTBEAT, () => {
      progressed();
      this.reader.heartbeat();
    });
    this.#consumer.on(REBALANCING, () => this.reader.rebalancing());
    // A batch of nothing but markers or aborted records is handed to nobody. Ranges that end behind it would wait for ever.
    this.#consumer.on(END_BATCH_PROCESS, ({ payload: { topic, partition, batchSize, firstOffset, lastOffset } }) => {
      if (batchSize > 0 || firstOffset === null) return;
      for (const reader of this.reader.reading(topic, partition))
        reader.foundEmpty(Number(firstOffset), Number(lastOffset) + 1);
    });
    this.#consumer.on(CRASH, ({ payload }) => {
      const { groupId } = this.options;
      const reason = isOtherDeployment(payload.error)
        ? `the consumer group ${groupId} has workers of another deployment: give each deployment a KAFKA_CONSUMER_GROUP of its own`
        : payload.error.message;
      this.reader.stopped(reason);
      if (!payload.restart && !this.#stopping) this.options.onDead(reason);
    });
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [...this.options.topics], fromBeginning: true });
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: 16,
      eachBatch: (payload) => this.#batch(payload),
    });
  }

  async #batch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const first = batch.messages[0];
    if (first === undefined) return;
    let parts = await this.#partsAt(payload, Number(first.offset));
    if (parts.length === 0) {
      // kafkajs fetches the same batch again at once; while the partition may not be read that would be a busy loop.
      await this.#waited(payload, pause(1_000));
      return;
    }
    if (payload.isStale()) return;
    await this.#compared(payload, parts);
    parts = parts.filter(({ goesOn }) => goesOn);
    if (parts.length === 0 || payload.isStale() || !(await this.#isWhole(payload, parts, Number(first.offset)))) return;
    for (let from = 0; from < batch.messages.length; from += CHUNK) {
      const messages = batch.messages.slice(from, from + CHUNK);
      const last = messages.at(-1) as KafkaMessage;
      const due = parts.filter(({ next }) => next <= Number(last.offset));
      if (due.length > 0) {
        await this.#handOut(payload, due, messages);
        parts = parts.filter(({ goesOn }) => goesOn);
        if (this.#stopping || payload.isStale() || parts.length === 0) return;
        if (parts.some(({ next }) => next <= Number(last.offset))) return;
      }
      payload.resolveOffset(last.offset);
      if (last === batch.messages.at(-1))
        for (const { reader } of parts) reader.foundEmpty(Number(last.offset) + 1, Number(batch.lastOffset()) + 1);
      await payload.heartbeat();
    }
  }

  /** What the readers take that own the partition by now; none when it may not be read. */
  async #partsAt(payload: EachBatchPayload, offset: number): Promise<readonly BatchPart[]> {
    const { topic, partition } = payload.batch;
    let readers = this.reader.reading(topic, partition);
    if (readers.length === 0)
      readers = (await this.#waited(payload, this.reader.ready(topic, partition, offset))) ?? [];
    return readers.map((reader) => new BatchPart(reader));
  }

  /** Has Kafka asked whether it lost what was read, where this batch gives a reason. A leader that was just elected may tell too low an end. */
  async #compared(payload: EachBatchPayload, parts: readonly BatchPart[]): Promise<void> {
    const { messages, highWatermark } = payload.batch;
    const doubtful = parts.filter((part) => Number(highWatermark) < part.next || part.hasOtherLeader(messages));
    if (doubtful.length === 0) return;
    const compared = doubtful.map(async (part) => {
      await this.reader.compare(part.reader);
      part.compared(messages);
    });
    await this.#waited(payload, Promise.all(compared));
  }

  /** Whether the log holds nothing between what was read and this batch; else it is read from there. */
  async #isWhole(payload: EachBatchPayload, parts: readonly BatchPart[], first: number): Promise<boolean> {
    const { batch } = payload;
    const { topic, partition } = batch;
    const next = Math.min(...parts.map((part) => part.next));
    if (first <= next) return true;
    const low = (await this.#waited(payload, this.reader.lowest(topic, partition))) ?? 0;
    if (payload.isStale() || parts.some((part) => !part.goesOn)) return false;
    if (Math.min(...parts.map((part) => part.next)) !== next) return false;
    if (!isGap(batch, next, low)) {
      this.#consumer.seek({ topic, partition, offset: String(next) });
      return false;
    }
    if (low > next) this.reader.overtaken(topic, partition, next, low);
    return true;
  }

  /** Hands the records to the fan-out. @throws a failed heartbeat */
  async #handOut(payload: EachBatchPayload, parts: readonly BatchPart[], messages: KafkaMessage[]): Promise<void> {
    const next = Math.min(...parts.map((part) => part.next));
    const records = messages.map(logRecordOf).filter((record) => record.offset >= next);
    let fault: Error | undefined;
    const during = async <T>(
      part: BatchPart,
      waiting: Promise<T>,
      goesOn = () => part.goesOn,
    ): Promise<{ readonly value: T } | undefined> => {
      const ended = await this.#during(payload, waiting, goesOn);
      fault ??= ended.fault;
      return !this.#stopping && part.goesOn ? ended.result : undefined;
    };
    const paused = this.readingPause.end();
    if (paused !== undefined) await this.#waited(payload, paused);
    if (this.#stopping) return;
    const chunk: LogChunk = {
      records,
      parts: parts
        .filter(({ goesOn }) => goesOn)
        .map((part) => ({
          at: part.reader.at,
          accept: (record) => part.accept(record),
          hashOf: (envelopeId) => part.reader.hashOf(envelopeId),
          during: (waiting) => during(part, waiting),
          answered: (answer) => during(part, answer, parts.length > 1 ? part.goesOnFor(PATIENCE_MS) : undefined),
          ended: () => part.ended(messages),
        })),
    };
    const handler = (this.#handler ??= this.getHandlerByPattern(LOG_CHUNK));
    if (handler === null) throw new Error(`Nothing handles ${LOG_CHUNK}`);
    const result: unknown = await handler(chunk);
    if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
    if (fault !== undefined) throw fault;
  }

  /** The value; undefined when the promise was rejected or the process stops. @throws a failed heartbeat */
  async #waited<T>(payload: EachBatchPayload, waiting: Promise<T>): Promise<T | undefined> {
    const { result, fault } = await this.#during(payload, waiting);
    if (fault !== undefined) throw fault;
    return result?.value;
  }

  /**
   * Waits, with heartbeats, for as long as `goesOn`. A failed heartbeat (rebalance, broker away) ends the waiting and is left
   * to kafkajs.
   * @returns the value; neither it nor a fault when the promise was rejected or the process stops
   */
  async #during<T>(payload: EachBatchPayload, waiting: Promise<T>, goesOn = () => true): Promise<Ended<T>> {
    let ended: Ended<T> | undefined;
    const finished = waiting.then(
      (value) => void (ended = { result: { value } }),
      () => void (ended = {}),
    );
    for (;;) {
      await within(finished, 500);
      if (ended !== undefined) return ended;
      if (this.#stopping || !goesOn()) return {};
      try {
        await payload.heartbeat();
      } catch (error) {
        return { fault: error instanceof Error ? error : new Error(String(error)) };
      }
    }
  }

  /** Hands out nothing more but stays in the group, so that its owner can flush the records that run. */
  close(): void {
    this.#stopping = true;
    try {
      this.#consumer.pause(this.options.topics.map((topic) => ({ topic })));
    } catch {
      // Not in its group just now, before its first join or while Kafka is away: nothing is being read.
    }
  }

  /** Leaves the group. */
  async leave(): Promise<void> {
    await this.#consumer.disconnect();
  }

  on(): void {
    throw new Error('KafkaLogStrategy has no events of its own');
  }

  unwrap<T>(): T {
    return this.#consumer as T;
  }
}

interface Ended<T> {
  readonly result?: { readonly value: T };
  readonly fault?: Error;
}

/**
 * Whether the log holds nothing from `next` to a batch that begins beyond it. A fetch that was made at `next`, or before
 * it, shows that (Kafka's own markers, deleted records). Any other fetch does not, unless Kafka deleted what lies before
 * it: kafkajs fetches at the group's commit after a join, and at the first record when an offset is out of range. Where
 * a batch was fetched is a member that the types of kafkajs leave out; a remembered seek could be older than the join.
 */
const isGap = (batch: Batch, next: number, low: number): boolean =>
  low > next || Number((batch as Batch & { readonly fetchedOffset: string }).fetchedOffset) <= next;
