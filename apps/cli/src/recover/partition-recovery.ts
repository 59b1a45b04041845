import type { RejectedRecords } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import { readRecord, type EnvelopeRecord, type LogRecord, type ReadRecord } from '@relay/events';
import { NO_WEBHOOK } from '@relay/jobs';
import type { LogPartition, PartitionProgress, Position, ReadTo } from '@relay/progress';
import type { RetryQueue } from '@relay/retry';
import { type Candidate, type LoggedDeliveries, RecentIds, recoveryOf } from './logged-deliveries.js';

export interface Counts {
  records: number;
  deliveries: number;
  alreadyFinal: number;
}

interface RecoveryTools {
  readonly token: string;
  readonly topicPrefix: string;
  /** The progress in the shard that is recovered. */
  readonly progress: PartitionProgress;
  /** Kafka's id of the topic, if the brokers report one. */
  readonly topicId?: string | undefined;
  shardOf(envelopeId: string): number;
  readonly queue: RetryQueue;
  readonly rejectedRecords: RejectedRecords;
  readonly logged: LoggedDeliveries;
  matching(eventType: string, audience: readonly string[]): readonly Candidate[];
  now(): number;
  /** `DEDUPE_WINDOW` in milliseconds. */
  readonly windowMs: number;
}

/**
 * Recovers the records of one shard from one partition of an event topic. Like a worker, the recovery owns the partition.
 * For each chunk of records, it looks up the ids, stores the jobs, and then writes the marks together with the high water. A
 * killed recovery therefore continues at its last write. If another recovery takes over the partition, this one can write
 * nothing more.
 *
 * Only records of the last `DEDUPE_WINDOW` get marks. The id of an older record may have been accepted a second time after
 * the window. If the older record got a mark, that second acceptance would be dropped as a duplicate, and a third one
 * refused. Repeats of older records are found in memory, so after a killed recovery a repeat can be delivered again. A
 * record that uses an id again with other content needs no mark, because its dead letter is in the log.
 */
export class PartitionRecovery {
  #position: Position = { highWater: 0, sequence: 0 };
  /** Records below this offset are recovered already, or belong to another shard. */
  #next = 0;
  readonly #older: RecentIds;

  constructor(
    readonly at: LogPartition,
    private readonly tools: RecoveryTools,
    private readonly counts: Counts,
  ) {
    this.#older = new RecentIds(tools.windowMs);
  }

  /**
   * Becomes the owner of the partition.
   * @returns the offset to continue from; it is `start` if no earlier recovery of this log has written anything
   */
  async begin(start: number): Promise<number> {
    const { progress, token } = this.tools;
    const found = await progress.own(this.at, token, { start, take: true });
    if (found === undefined || found === 'owned-elsewhere') throw overtaken();
    this.#position = { highWater: found.highWater, sequence: found.sequence + 1 };
    this.#next = this.#isOfThisLog(found.read) ? found.highWater : start;
    return this.#next;
  }

  async take(records: readonly LogRecord[]): Promise<void> {
    const { progress, queue, rejectedRecords, topicPrefix, logged } = this.tools;
    const read = records
      .filter(({ offset }) => offset >= this.#next)
      .map((record) => readRecord(record, this.at.topic, topicPrefix))
      .filter((item) => this.#isOwn(item));
    for (const item of read)
      if (item.kind === 'poison') await rejectedRecords.poison(this.at, item.record, item.reason);
    // Before the loss, the first record of an id was delivered. A later record with other content became a dead letter of
    // the whole envelope. That later record is left out here, otherwise it would win if its partition is read first.
    const envelopes = read
      .filter((item) => item.kind === 'envelope')
      .filter((item) => !logged.letters.knows(wholeOf(item)) && !this.#isRepeatOfOlder(item));
    const marked = envelopes.filter((item) => this.#isMarked(item));
    const { results } = await progress.lookUp(this.at, marked.map(entryOf));
    const resultOf = new Map(marked.map((item, index) => [item, results[index]]));
    const firstHash = new Map<string, string>();
    const adds: Promise<unknown>[] = [];
    const settled = envelopes.flatMap((item) => {
      const result = resultOf.get(item);
      const { id, hash } = entryOf(item);
      const earlier = result === undefined ? undefined : firstHash.get(id);
      if (result === 'duplicate' || earlier === hash) return [];
      if (result === 'conflict' || earlier !== undefined) {
        adds.push(rejectedRecords.addDeadLetter(item, 'id_conflict', 'the id was used before with other content'));
        return [];
      }
      if (result !== undefined) firstHash.set(id, hash);
      const candidates = this.tools.matching(item.envelope.type, item.envelope.audience);
      const { deliveries, alreadyFinal } = recoveryOf(item, candidates, logged, this.tools.now());
      for (const delivery of deliveries) adds.push(queue.add(delivery));
      this.counts.deliveries += deliveries.length;
      this.counts.alreadyFinal += alreadyFinal;
      return result === undefined ? [] : [entryOf(item)];
    });
    await Promise.all(adds);
    if (read.length === 0) return;
    await this.#write((records.at(-1)?.offset ?? -1) + 1, settled);
    this.counts.records += read.length;
  }

  /** Records that are not envelopes belong to shard 0. */
  #isOwn(item: ReadRecord): boolean {
    const number = item.kind === 'envelope' ? this.tools.shardOf(item.envelope.id) : 0;
    return number === (this.at.shard ?? 0);
  }

  /** Sets the high water to `end`, and releases the partition to the workers. */
  async finish(end: number): Promise<void> {
    if (this.#next < end) await this.#write(end, []);
    await this.tools.progress.release(this.at, this.tools.token);
  }

  /** Whether an earlier, killed recovery read this topic and not a deleted topic of the same name. */
  #isOfThisLog(read: ReadTo | undefined): boolean {
    const { topicId } = this.tools;
    const { topicIds = [] } = read ?? {};
    return read !== undefined && (topicId === undefined || topicIds.length === 0 || topicIds.includes(topicId));
  }

  #isMarked({ acceptedAt }: EnvelopeRecord): boolean {
    return acceptedAt > this.tools.now() - this.tools.windowMs;
  }

  /** Whether an older record had the same id and content. A record that gets no mark is remembered for later calls. */
  #isRepeatOfOlder(item: EnvelopeRecord): boolean {
    const { id, hash } = entryOf(item);
    const name = `${id}_${hash}`;
    if (this.#older.has(name, item.acceptedAt)) return true;
    if (!this.#isMarked(item)) this.#older.add(name, item.acceptedAt);
    return false;
  }

  async #write(highWater: number, settled: { id: string; hash: string }[]): Promise<void> {
    const { progress, token, topicId } = this.tools;
    const next = { highWater, sequence: this.#position.sequence + 1 };
    const read = { next: highWater, newest: 0, topicIds: topicId === undefined ? [] : [topicId] };
    const flush = { token, confirmed: this.#position, next, read, settled, partial: [], whole: [] };
    if (!(await progress.flush(this.at, flush))) throw overtaken();
    this.#position = next;
    this.#next = highWater;
  }
}

const entryOf = ({ envelope }: EnvelopeRecord) => ({ id: envelope.id, hash: envelope.contentHash });

const overtaken = (): Error =>
  new Error(
    'Another `relay recover` has taken over, or Redis lost what this one wrote: wait for the other, or run it again',
  );

const wholeOf = ({ envelope: { id: envelopeId, contentHash: hash }, acceptedAt }: EnvelopeRecord): string =>
  deliveryId({ webhookId: NO_WEBHOOK, envelopeId, hash, series: 0, acceptedAt });
