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
  /** Progress in the shard that is recovered. */
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
 * Recovers one partition of an event topic from its high water, once; with several shards, its records of one shard. It owns the
 * partition like a worker: each chunk looks up its ids, stores its jobs, then writes marks and high water together. A killed
 * recovery therefore resumes at its last write, and one that another recovery overtook writes nothing more.
 *
 * Only records of the last `DEDUPE_WINDOW` get marks. An older record must not: its id may have been accepted again after the window,
 * and with a mark that second acceptance is dropped as a duplicate, and the source of a third one is refused. Repeats of older
 * records are found in memory; after a killed recovery one can be delivered again. Another content under an id needs
 * no mark: its dead letter is logged.
 */
export class PartitionRecovery {
  #position: Position = { highWater: 0, sequence: 0 };
  /** Records below this offset were recovered, or are of another shard. */
  #next = 0;
  readonly #older: RecentIds;

  constructor(
    readonly at: LogPartition,
    private readonly tools: RecoveryTools,
    private readonly counts: Counts,
  ) {
    this.#older = new RecentIds(tools.windowMs);
  }

  /** Becomes the owner. @returns the offset to continue from: `start` if no earlier recovery wrote anything of this log */
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
    // The first record of an id was delivered; a later one with other content became a dead letter of the whole envelope. The later
    // one must not win now because its partition is read first.
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

  /** A record that is not an envelope is of shard 0. */
  #isOwn(item: ReadRecord): boolean {
    const number = item.kind === 'envelope' ? this.tools.shardOf(item.envelope.id) : 0;
    return number === (this.at.shard ?? 0);
  }

  /** Releases the partition to the workers at `end`. */
  async finish(end: number): Promise<void> {
    if (this.#next < end) await this.#write(end, []);
    await this.tools.progress.release(this.at, this.tools.token);
  }

  /** Whether an earlier, killed recovery read the log of today’s topic: the topic may have been deleted and created since. */
  #isOfThisLog(read: ReadTo | undefined): boolean {
    const { topicId } = this.tools;
    const { topicIds = [] } = read ?? {};
    return read !== undefined && (topicId === undefined || topicIds.length === 0 || topicIds.includes(topicId));
  }

  #isMarked({ acceptedAt }: EnvelopeRecord): boolean {
    return acceptedAt > this.tools.now() - this.tools.windowMs;
  }

  /** Remembers a record without a mark. */
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
