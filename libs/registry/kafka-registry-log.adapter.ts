import { answeredWithin, askedAgain, isDeletionRefused, readRanges } from '@relay/kafka';
import type { KafkaAdmin, KeptAdmin } from '@relay/kafka';
import type { Publisher } from '@relay/publishing';
import { type Log, ThrottledLog } from '@relay/telemetry';
import { RegistryLog, type LoggedCommand } from './registry-log.port.js';

/** Maximum wait for an answer, in ms. It is shorter than the 9 s that a change of the registry waits. */
const BOUNDS_MS = 8_000;
const WARN_EVERY_MS = 3_600_000;
const HEADERS = { 'content-type': 'application/json' };

/**
 * The topic `relay.registry`. It is written with acks=all and has no retention; only `deleteBefore` removes records.
 * Commands need one order, so the relay uses only partition 0. If somebody has added partitions, which Kafka cannot remove,
 * they are ignored.
 */
export class KafkaRegistryLog extends RegistryLog {
  readonly #log: ThrottledLog;

  /**
   * @param admin reads the bounds of the log. It is one shared connection, so that a read by a partner does not open a new
   *   one.
   * @param group consumer group of the workers, and the prefix for the names of short-lived consumer groups
   */
  constructor(
    private readonly admin: KeptAdmin,
    private readonly publisher: Publisher,
    readonly name: string,
    readonly group: string,
    log: Log,
  ) {
    super();
    this.#log = new ThrottledLog(log, WARN_EVERY_MS);
  }

  append(id: string, value: Buffer): Promise<number | undefined> {
    return this.publisher.publish({ topic: this.name, key: id, value, headers: HEADERS, partition: 0 });
  }

  cluster(): Promise<string | null> {
    return this.#ask(async (admin) => {
      const { clusterId } = await admin.describeCluster();
      return clusterId === '' ? null : (clusterId ?? null);
    });
  }

  override claimed(cluster: string | null): void {
    this.publisher.belongsTo(cluster);
  }

  bounds(): Promise<{ start: number; end: number }> {
    return this.#ask(async (admin) => {
      const all = await admin.fetchTopicOffsets(this.name);
      const bounds = all.find(({ partition }) => partition === 0);
      if (bounds === undefined) throw new Error(`The topic ${this.name} has no partition 0`);
      if (all.length > 1)
        this.#log.warn(
          'registry.more_partitions',
          'The topic of the registry has more than one partition; the relay writes and reads the first alone, so nothing is lost',
          { topic: this.name, partitions: all.length },
        );
      return { start: Number(bounds.low), end: Number(bounds.high) };
    });
  }

  deleteBefore(offset: number): Promise<'deleted' | 'not-permitted'> {
    const partitions = [{ partition: 0, offset: String(offset) }];
    return this.#ask(async (admin) => {
      try {
        await admin.fetchTopicOffsets(this.name); // the driver learns the leaders with this request
        await admin.deleteTopicRecords({ topic: this.name, partitions });
        return 'deleted';
      } catch (error) {
        if (isDeletionRefused(error)) return 'not-permitted';
        throw error;
      }
    });
  }

  #ask<T>(question: (admin: KafkaAdmin) => Promise<T>): Promise<T> {
    return answeredWithin(
      BOUNDS_MS,
      askedAgain(BOUNDS_MS, () => this.admin.ask(question)),
    );
  }

  read(from: number, end: number, take: (commands: readonly LoggedCommand[]) => Promise<void>): Promise<void> {
    const range = { topic: this.name, partition: 0, from, end };
    return readRanges(this.admin.kafka, [range], this.group, (_range, messages) =>
      take(messages.map(({ offset, value }) => ({ offset: Number(offset), value: value ?? Buffer.alloc(0) }))),
    );
  }
}
