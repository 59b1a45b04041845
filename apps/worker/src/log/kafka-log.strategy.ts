import { Inject, Injectable } from '@nestjs/common';
import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { logRecordOf } from '@relay/kafka';
import { Kafka, type Batch, type Consumer, type EachBatchPayload, type KafkaMessage } from 'kafkajs';
import { isObservable, lastValueFrom } from 'rxjs';
import { pause } from './pause.js';
import { assignerOf, isOtherDeployment } from './deployment-assigner.adapter.js';
import { FetchWatch } from './fetch-watch.js';
import { LOG_CHUNK, type LogChunk } from './log-chunk.js';
import { LogReader } from './log-reader.js';
import type { PartitionReader } from './partition-reader.js';
import { ReadingPause } from './reading-pause.js';

/** Records looked up in one round trip. */
const CHUNK = 200;

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
      this.reader.reading(topic, partition)?.foundEmpty(Number(firstOffset), Number(lastOffset) + 1);
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
    const reader = await this.#readerAt(payload, Number(first.offset));
    const next = reader?.next;
    if (reader === undefined || next === undefined) {
      // kafkajs fetches the same batch again at once; while the partition may not be read that would be a busy loop.
      const { fault } = await this.#during(payload, pause(1_000));
      if (fault !== undefined) throw fault;
      return;
    }
    if (payload.isStale()) return;
    const { restarts } = reader;
    // A leader that was just elected may tell too low an end, so that is only a reason to compare.
    if (Number(batch.highWatermark) < next) {
      const { fault } = await this.#during(payload, this.reader.compare(reader));
      if (fault !== undefined) throw fault;
      if (payload.isStale() || reader.restarts !== restarts) return;
    }
    if (Number(first.offset) > next) {
      const { result, fault } = await this.#during(payload, this.reader.lowest(batch.topic, batch.partition));
      if (fault !== undefined) throw fault;
      if (payload.isStale() || reader.restarts !== restarts || reader.next !== next) return;
      const low = result?.value ?? 0;
      if (!isGap(batch, next, low)) {
        this.#consumer.seek({ topic: batch.topic, partition: batch.partition, offset: String(next) });
        return;
      }
      if (low > next) this.reader.overtaken(batch.topic, batch.partition, next, low);
    }
    for (let from = 0; from < batch.messages.length; from += CHUNK) {
      const messages = batch.messages.slice(from, from + CHUNK);
      const last = messages.at(-1) as KafkaMessage;
      if (Number(last.offset) >= (reader.next ?? 0)) {
        const fault = await this.#handOut(payload, reader, restarts, messages);
        if (fault !== undefined) throw fault;
        if (reader.restarts !== restarts) return;
        if (this.#stopping || payload.isStale() || reader.next === undefined || reader.next <= Number(last.offset))
          return;
      }
      payload.resolveOffset(last.offset);
      if (last === batch.messages.at(-1)) reader.foundEmpty(Number(last.offset) + 1, Number(batch.lastOffset()) + 1);
      await payload.heartbeat();
    }
  }

  /** The partition's reader once it owns the partition; undefined when it may not read it now. */
  async #readerAt(payload: EachBatchPayload, offset: number): Promise<PartitionReader | undefined> {
    const { topic, partition } = payload.batch;
    const reader = this.reader.reading(topic, partition);
    if (reader !== undefined) return reader;
    const { result, fault } = await this.#during(payload, this.reader.ready(topic, partition, offset));
    if (fault !== undefined) throw fault;
    return result?.value;
  }

  async #handOut(
    payload: EachBatchPayload,
    reader: PartitionReader,
    restarts: number,
    messages: KafkaMessage[],
  ): Promise<Error | undefined> {
    const { topic, partition } = payload.batch;
    let fault: Error | undefined;
    const chunk: LogChunk = {
      at: { topic, partition },
      records: messages.map(logRecordOf).filter((record) => record.offset >= (reader.next ?? 0)),
      accept: (record) => reader.accept(record.offset, restarts, record.timestamp),
      hashOf: (envelopeId) => reader.hashOf(envelopeId),
      during: async <T>(waiting: Promise<T>) => {
        const ended = await this.#during(payload, waiting);
        fault = ended.fault;
        const goesOn = !this.#stopping && reader.state === 'reading' && reader.restarts === restarts;
        return goesOn ? ended.result : undefined;
      },
    };
    const paused = this.readingPause.end();
    if (paused !== undefined && (await chunk.during(paused)) === undefined) return fault;
    const handler = (this.#handler ??= this.getHandlerByPattern(LOG_CHUNK));
    if (handler === null) throw new Error(`Nothing handles ${LOG_CHUNK}`);
    const result: unknown = await handler(chunk);
    if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
    return fault;
  }

  /**
   * Waits, with heartbeats. A failed heartbeat (rebalance, broker away) ends the waiting and is left to kafkajs.
   * @returns the value; neither it nor a fault when the promise was rejected or the process stops
   */
  async #during<T>(payload: EachBatchPayload, waiting: Promise<T>): Promise<Ended<T>> {
    let ended: Ended<T> | undefined;
    const finished = waiting.then(
      (value) => void (ended = { result: { value } }),
      () => void (ended = {}),
    );
    for (;;) {
      await within(finished, 500);
      if (ended !== undefined) return ended;
      if (this.#stopping) return {};
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

/** Waits for a promise, for at most `ms` milliseconds. */
async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, limit]);
  clearTimeout(timer);
}
