import { Inject, Injectable, Optional } from '@nestjs/common';
import { partitionOf } from '@relay/events';
import { answeredWithin, hasCode, isTimeout, Kafka, openProducer } from '@relay/kafka';
import type { Acknowledgement, KafkaProducer } from '@relay/kafka';
import { Log, reasonOf, ThrottledLog, type Tracing } from '@relay/telemetry';
import { Lanes, type Batch, type LaneClock, type LaneSettings } from './lanes.js';
import { Publisher, PublishFailed, type OutgoingRecord } from './publisher.port.js';
import { TopicDirectory } from './topic-directory.adapter.js';

export interface KafkaPublisherSettings extends LaneSettings {
  /**
   * Whether Kafka's idempotent producer is used. If false, a repeat after a lost answer may store a record twice; consumers
   * drop the second one by its envelope id. If true, the driver repeats a request once by itself, and a broker that was
   * frozen may receive this repeat after the deadline.
   */
  readonly idempotent: boolean;
  /**
   * Maximum time in ms to look for a topic that is new to this process, or while the brokers cannot be reached. It adds to
   * the deadline.
   */
  readonly lookMs: number;
}

export const defaultPublisherSettings: KafkaPublisherSettings = {
  idempotent: false,
  lookMs: 1_500,
  deadlineMs: 6_500,
  maxWaitingBytes: 64 * 1024 * 1024,
  maxBatchBytes: 512 * 1024,
  maxBatchRecords: 500,
  maxRequestBytes: 2 * 1024 * 1024,
  maxRequestsPerBroker: 1,
  retryWaitsMs: [100, 400, 1_000],
};

/**
 * Publishes records by `KafkaProducer` with acks=all. It chooses the partition itself, and checks that the answer has an
 * acknowledgement for every partition of the request.
 *
 * After each failed send, the publisher opens a new producer. There are three faults in the driver that make this necessary:
 * - The driver keeps using a connection whose requests time out.
 * - After a used topic was deleted, the driver fails the sends to every topic.
 * - With `idempotent`, if the broker's answer to a record does not arrive, the driver uses the sequence number of this
 *   record again for the next record. The broker then takes the next record for a duplicate: it acknowledges the next record
 *   without storing it, so that record is lost.
 *
 * The driver's own repeats are off, so that nothing is sent after the deadline. The lanes repeat instead.
 */
@Injectable()
export class KafkaPublisher extends Publisher {
  readonly #directory: TopicDirectory;
  readonly #lanes: Lanes;
  readonly #settings: KafkaPublisherSettings;
  readonly #failedSends = new FailedSends();
  readonly #log: ThrottledLog;
  #producer: Promise<KafkaProducer> | undefined;
  #isClosed = false;

  constructor(
    private readonly kafka: Kafka,
    @Inject(Log) log: Log,
    @Optional() settings: Partial<KafkaPublisherSettings> = {},
  ) {
    super();
    this.#settings = { ...defaultPublisherSettings, ...settings };
    this.#log = new ThrottledLog(log);
    this.#directory = new TopicDirectory(kafka, log, () => this.#failedSends.forget());
    this.#lanes = new Lanes(
      (batches) => this.#send(batches),
      (topic, partition) => this.#directory.leaderOf(topic, partition),
      this.#settings,
      systemClock,
    );
  }

  get state(): string {
    if (this.#isClosed) return 'closed';
    return this.#directory.fault ?? this.#failedSends.fault(Date.now()) ?? 'connected';
  }

  publish(record: OutgoingRecord): Promise<number | undefined> {
    const isOpen = !this.#isClosed && this.#directory.fault === undefined;
    const partitions = isOpen ? this.#directory.partitions(record.topic) : undefined;
    return partitions === undefined ? this.#publishNew(record) : this.#place(record, partitions);
  }

  learn(topics: readonly string[]): Promise<void> {
    return this.#directory.learn(topics);
  }

  override belongsTo(cluster: string | null): void {
    this.#directory.cluster = cluster;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lanes.idle();
    this.#directory.close();
    const producer = await this.#producer?.catch(() => undefined);
    await producer?.disconnect();
  }

  async #place(record: OutgoingRecord, partitions: number): Promise<number | undefined> {
    const partition = record.partition ?? partitionOf(record.key, partitions);
    if (partition >= partitions) {
      const reason = `${record.topic} has ${partitions} partitions, none of number ${partition}`;
      throw new PublishFailed('refused', reason);
    }
    try {
      const offset = await this.#lanes.add(record, partition);
      this.#failedSends.stored(record.topic, partition);
      return offset;
    } catch (error) {
      // A record that a broker refuses, or that has no room in memory, does not mean that its partition has a fault.
      const isOfCluster = error instanceof PublishFailed && /^(unavailable|timeout)$/.test(error.reason);
      if (isOfCluster) this.#failedSends.failed(record.topic, partition, error.message, Date.now());
      if (error instanceof PublishFailed && !error.retryable)
        this.#log.warn('topic.refused', 'Kafka refuses a record, such as one that is larger than its topic accepts', {
          topic: record.topic,
          bytes: record.value.length,
          reason: error.message,
        });
      throw error;
    }
  }

  /**
   * Looks up the topic in Kafka first, then publishes the record. This is necessary if the topic is not known yet or the
   * last look-up failed.
   */
  async #publishNew(record: OutgoingRecord): Promise<number | undefined> {
    if (this.#isClosed) throw new PublishFailed('unavailable', 'The publisher is closed');
    const { lookMs } = this.#settings;
    const late = () => new PublishFailed('unavailable', `Kafka did not answer within ${lookMs} ms`);
    const partitions = await answeredWithin(lookMs, this.#directory.look(record.topic), late);
    return this.#place(record, partitions);
  }

  async #send(batches: readonly Batch[]): Promise<(number | undefined)[]> {
    const { idempotent, deadlineMs } = this.#settings;
    this.#producer ??= openProducer(this.kafka, idempotent);
    const connecting = this.#producer;
    try {
      const producer = await connecting;
      const answers = await producer.send(batches, deadlineMs);
      const lost = unacknowledged(batches, answers);
      if (lost.length > 0) {
        const names = lost.map((batch) => `${batch.topic}/${batch.partition}`).join(', ');
        throw new PublishFailed('unavailable', `The answer to a send says nothing of ${names}`);
      }
      return baseOffsets(batches, answers);
    } catch (error) {
      if (this.#producer === connecting) this.#producer = undefined;
      connecting.then((producer) => producer.disconnect()).catch(() => undefined);
      void this.#directory.refresh();
      throw failureOf(error);
    }
  }
}

const systemClock: LaneClock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  soon: (run) => void setImmediate(run),
};

/**
 * Error codes by which a broker refuses the record itself. All other codes are faults of the cluster or of the access to it,
 * or of the clock of this host (INVALID_TIMESTAMP). The record is then sent again.
 */
const REFUSED = ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD'];

function failureOf(error: unknown): PublishFailed {
  if (error instanceof PublishFailed) return error;
  const reason = reasonOf(error);
  if (hasCode(error, ...REFUSED)) return new PublishFailed('refused', reason, error);
  return new PublishFailed(isTimeout(error) ? 'timeout' : 'unavailable', reason, error);
}

type Sent = Pick<Batch, 'topic' | 'partition'>;

/**
 * Returns the batches of a request that were not acknowledged. If a leader moves between two attempts of the driver, a send
 * to several partitions may resolve although one of them was never written. A batch therefore counts as stored only if the
 * answer has its partition with error code 0.
 */
export function unacknowledged<S extends Sent>(sent: readonly S[], answers: readonly Acknowledgement[]): S[] {
  const stored = new Set(answers.filter((a) => a.errorCode === 0).map((a) => `${a.topicName}/${a.partition}`));
  return sent.filter((batch) => !stored.has(`${batch.topic}/${batch.partition}`));
}

/** Returns the offset of the first record of each batch; undefined if the answer has no offset for it, or -1. */
export function baseOffsets(sent: readonly Sent[], answers: readonly Acknowledgement[]): (number | undefined)[] {
  const known = new Map(answers.map((a) => [`${a.topicName}/${a.partition}`, Number(a.baseOffset ?? -1)]));
  return sent.map((batch) => known.get(`${batch.topic}/${batch.partition}`)).map((at) => (at === -1 ? undefined : at));
}

/**
 * A failure is reported until a later record is stored in the same partition, but for at most 30 s. Without this limit, a
 * partition that gets no more records is reported as failed for ever.
 */
const REPORTED_MS = 30_000;

/**
 * Partitions whose newest record could not be stored. Brokers may answer all other requests and still not store records, for
 * example if too few replicas are in sync, if there is no leader, if a disk is full, or if a right was revoked.
 */
export class FailedSends {
  readonly #newest = new Map<string, { readonly at: number; readonly reason: string }>();

  failed(topic: string, partition: number, reason: string, now: number): void {
    this.#newest.set(nameOf(topic, partition), { at: now, reason });
  }

  stored(topic: string, partition: number): void {
    if (this.#newest.size > 0) this.#newest.delete(nameOf(topic, partition));
  }

  /** Forgets all failures. Called when the brokers answer again. */
  forget(): void {
    this.#newest.clear();
  }

  /** Describes a failure in words; undefined if there is none. */
  fault(now: number): string | undefined {
    for (const [name, { at, reason }] of this.#newest) {
      if (now - at < REPORTED_MS) return `${name} takes no records: ${reason}`;
      this.#newest.delete(name);
    }
    return undefined;
  }
}

const nameOf = (topic: string, partition: number): string => `${topic}/${partition}`;

/** Publisher that adds a span for each record with a `traceparent`. The record gets the new span as its `traceparent`. */
export class TracedPublisher extends Publisher {
  constructor(
    private readonly publisher: Publisher,
    private readonly tracing: Tracing,
  ) {
    super();
  }

  get state(): string {
    return this.publisher.state;
  }

  async publish(record: OutgoingRecord): Promise<number | undefined> {
    const { traceparent, ce_id: id = '', ce_type: type = '' } = record.headers;
    if (traceparent === undefined) return this.publisher.publish(record);
    const span = this.tracing.start(`send ${record.topic}`, 'producer', traceparent, {
      'messaging.system': 'kafka',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': record.topic,
      'messaging.message.id': id,
      'relay.event_type': type,
    });
    try {
      const headers = { ...record.headers, traceparent: span.traceparent };
      const offset = await this.publisher.publish({ ...record, headers });
      span.end();
      return offset;
    } catch (error) {
      span.end({}, error instanceof PublishFailed ? error.reason : 'unknown');
      throw error;
    }
  }

  learn(topics: readonly string[]): Promise<void> {
    return this.publisher.learn(topics);
  }

  override belongsTo(cluster: string | null): void {
    this.publisher.belongsTo(cluster);
  }

  close(): Promise<void> {
    return this.publisher.close();
  }
}
