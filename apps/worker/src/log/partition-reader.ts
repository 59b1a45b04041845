import {
  Tracker,
  type LogPartition,
  type OwnedPosition,
  type PartitionProgress,
  type Position,
  type ReadTo,
} from '@relay/progress';
import type { Log } from '@relay/telemetry';
import { CatchUpPartition } from './catch-up-partition.js';
import type { RecordHandle } from './log-chunk.js';
import type { LogLoss, LossOf } from './log-loss.js';
import { PartitionClaim } from './partition-claim.js';
import { PartitionRecord } from './partition-record.js';
import { PendingWrites } from './pending-writes.js';
import type { PartitionState } from './partition-state.js';
import { owned, same } from './positions.js';
import { ReadSoFar } from './read-so-far.js';

/** One partition, or what belongs to one shard of it, while this worker reads it. */
export class PartitionReader {
  #state: PartitionState = 'owning';
  #tracker: Tracker | undefined;
  #confirmed: Position = { highWater: -1, sequence: -1 };
  #sent: Position | undefined;
  readonly #read = new ReadSoFar();
  /** The leader that wrote the last record that was read; undefined before the first one is. */
  leaderEpoch: number | undefined;
  /** Records below this offset may have been handed out before. */
  #readAgainBelow = 0;
  #restarts = 0;
  #interruptions = 0;
  #flushing: Promise<void> | undefined;
  readonly #pending = new PendingWrites();
  #refused = false;
  /** How often Redis was reconnected. An ownership, and the jobs stored again after it, hold until the next reconnection. */
  #doubts = 0;
  #released = false;
  readonly #claim: PartitionClaim;

  constructor(
    readonly at: LogPartition,
    private readonly progress: PartitionProgress,
    private readonly log: Log,
    handOverMs?: number,
  ) {
    this.#claim = new PartitionClaim(at, progress, handOverMs);
  }

  get state(): PartitionState {
    return this.#state;
  }

  /** Next offset to hand out; undefined until the first record shows where the log begins. */
  get next(): number | undefined {
    return this.#tracker?.next;
  }

  /** Whether the partition has no other reader: this one takes up every record, and may begin at the first that it meets. */
  get isAlone(): boolean {
    return this.at.shard === undefined;
  }

  /** End of what is settled and written, and of what the log holds no record of behind that. */
  get settledTo(): number | undefined {
    return this.#state === 'reading' ? this.#tracker?.beyond(this.#confirmed.highWater) : undefined;
  }

  get running(): number {
    return (this.#tracker?.running ?? 0) + this.#pending.parked.running;
  }

  /**
   * A partition that left is over when all its deliveries have ended, are marked and it was released, or another
   * member owns it.
   */
  get over(): boolean {
    return this.#state === 'left' && (this.#refused || this.#released);
  }

  /** Nothing waits to be written and nothing is being written. */
  get flushed(): boolean {
    return this.#flushing === undefined && this.#written && (this.#state !== 'left' || this.over);
  }

  get #written(): boolean {
    return !this.#behind && this.#pending.isEmpty;
  }

  get #behind(): boolean {
    return this.#tracker !== undefined && this.#tracker.highWater !== this.#confirmed.highWater;
  }

  /** How far the partition was read, by this worker or an earlier owner. */
  get read(): ReadTo {
    return this.#read.to(this.next);
  }

  /** The log is that of this topic id, unless another is known. @param topicId asked for before the first record was fetched */
  isOf(topicId: string | undefined): void {
    this.#read.isOf(topicId);
  }

  /**
   * Becomes the owner. Where the store knows nothing, begins at `start` in a log that was handed out up to `readTo`.
   * @param lost whether Kafka has lost records that were read; asked before anything is handed out
   * @returns where to read from; undefined when the store knows nothing and no start was given
   */
  async own(start?: number, lost?: LossOf, readTo = 0): Promise<number | undefined> {
    await this.#flushing;
    for (let doubts = -1; doubts !== this.#doubts;) {
      doubts = this.#doubts;
      const position = await this.#claim.make(start, () => this.#hasLeft);
      if (position === undefined) return undefined;
      if (this.#hasLeft) {
        // Redis may have got the release before the claim.
        await this.#release();
        return undefined;
      }
      if (this.#tracker !== undefined && (same(position, this.#confirmed) || same(position, this.#sent)))
        await this.#goOn(position);
      else await this.#restart(position, readTo);
      if (this.#hasLeft) return undefined;
      const loss = await lost?.(this.read);
      if (loss !== undefined) await this.#cut(loss);
      if (this.#hasLeft) return undefined;
    }
    this.#state = 'reading';
    return this.#tracker?.next;
  }

  get #hasLeft(): boolean {
    return this.#state === 'left';
  }

  /** The store holds our last write. Only later adds may be lost, so they are stored again before the next flush. */
  async #goOn(position: Position): Promise<void> {
    this.#confirmed = owned(position);
    this.#sent = undefined;
    await Promise.all(this.#pending.repeats.map((repeat) => repeat()));
  }

  /** Reads again from the store's position: deliveries that are not marked there are attempted again. */
  async #restart(position: OwnedPosition, readTo: number): Promise<void> {
    const { highWater, read } = position;
    if (this.#tracker !== undefined) {
      this.log.warn(
        'log.went_back',
        'The position in Redis of this partition is not the last one written; the worker reads again from that position',
        { ...this.at, highWater, wrote: this.#confirmed.highWater },
      );
    }
    const before = { newest: 0, ...read, next: Math.max(highWater, read?.next ?? readTo) };
    if (!(await this.#beginAt(highWater, before))) return;
    this.#confirmed = owned(position);
    this.#readAgainBelow = before.next;
  }

  /** Kafka lost records: goes on where the first of those may stand that were never read. The next flush writes that. */
  async #cut({ end, sameBelow, topicIds }: LogLoss): Promise<void> {
    const start = Math.min(this.#confirmed.highWater, sameBelow);
    const { next, newest } = this.read;
    const before = { next: 0, newest: topicIds === undefined ? newest : 0, topicIds: topicIds ?? [] };
    if (!(await this.#beginAt(start, before))) return;
    this.#readAgainBelow = next;
    if (topicIds === undefined) this.#pending.parked.cut(end, sameBelow);
    else this.#pending.parked.renew(end, next);
  }

  /** False when the partition has left meanwhile. */
  async #beginAt(start: number, before: ReadTo): Promise<boolean> {
    const parking = await this.progress.parking(this.at); // only the owner writes it
    if (this.#hasLeft) return false;
    this.#restarts += 1;
    this.#tracker = new Tracker(start);
    this.#read.beginAfter(before);
    this.#sent = undefined;
    this.#pending.clear(parking);
    return true;
  }

  #stopAs(state: Exclude<PartitionState, 'owning' | 'reading'>): void {
    this.#state = state;
    this.#interruptions += 1;
  }

  /** Redis was reconnected: nothing is written before ownership is confirmed again. */
  doubt(): void {
    this.#doubts += 1;
    if (this.#state === 'reading') this.#stopAs('doubtful');
  }

  lose(): void {
    this.#stopAs('lost');
  }

  /**
   * Settled records are still written, unless Redis may have gone back and lost jobs that were added. A partition without any,
   * such as one that was claimed and not read yet, is released.
   */
  leave(): void {
    this.#refused = this.#state !== 'reading' && (this.running > 0 || !this.#written);
    this.#stopAs('left');
  }

  /** How often reading has restarted elsewhere: records fetched before must no longer be handed out. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * Starts a record; undefined when it was handed out before or nothing may be handed out now. `restarts` is the
   * number when its batch was fetched: a later record of a batch from before a restart would look like the far side of
   * a gap, and all records before it like settled ones.
   */
  accept(offset: number, restarts = this.#restarts, time = 0): RecordHandle | undefined {
    const tracker = this.#tracker;
    if (restarts !== this.#restarts || this.#state !== 'reading') return undefined;
    if (tracker === undefined || !tracker.accept(offset)) return undefined;
    this.#read.saw(time);
    return new PartitionRecord(offset, offset < this.#readAgainBelow, this, tracker, this.#pending);
  }

  /**
   * All records below this offset were handed out, or belong to the shards of other readers.
   * @param restarts as for `accept`
   * @param time the largest of theirs
   */
  passed(to: number, restarts: number, time: number): void {
    if (restarts !== this.#restarts || this.#state !== 'reading') return;
    this.#tracker?.pass(to);
    this.#read.saw(time);
  }

  /** The log holds no record at the offsets `[from, to)`. */
  foundEmpty(from: number, to: number): void {
    this.#tracker?.foundEmpty(from, to);
  }

  /** The partition's parked webhooks and replays; undefined while nothing may be handed out. */
  catchUpPartition(): CatchUpPartition | undefined {
    const tracker = this.#tracker;
    if (this.#state !== 'reading' || tracker === undefined) return undefined;
    const [restarts, interruptions] = [this.#restarts, this.#interruptions];
    return new CatchUpPartition(this.at, this.#pending, tracker, {
      counts: () => restarts === this.#restarts,
      // Not again after an interruption: records that were skipped meanwhile would count as looked at.
      mayBegin: () => restarts === this.#restarts && interruptions === this.#interruptions && this.#state === 'reading',
    });
  }

  /** The content hash of an envelope that runs here, or is settled and not known to be marked yet. */
  hashOf(envelopeId: string): string | undefined {
    return this.#pending.hashOf(envelopeId);
  }

  /**
   * Writes what was settled since the last flush, one flush at a time. `compare` also compares positions when nothing
   * was.
   */
  flush(compare = false): Promise<void> {
    this.#flushing ??= this.#flush(compare).finally(() => (this.#flushing = undefined));
    return this.#flushing;
  }

  async #flush(compare: boolean): Promise<void> {
    const tracker = this.#tracker;
    if (this.over) return;
    if (this.#state === 'left' && this.running === 0 && this.#written) return this.#release();
    if ((this.#state !== 'reading' && this.#state !== 'left') || tracker === undefined) return;
    if (!compare && this.#written) return;

    const restarts = this.#restarts;
    const { repeats, ...writes } = this.#pending.take(tracker.next);
    const sent = { highWater: tracker.highWater, sequence: (this.#sent ?? this.#confirmed).sequence + 1 };
    const positions = { confirmed: this.#confirmed, sent: this.#sent, next: sent };
    const flush = { token: this.#claim.token, ...positions, read: this.read, ...writes };
    this.#sent = sent;
    try {
      if (await this.progress.flush(this.at, flush)) {
        if (restarts !== this.#restarts) return;
        this.#confirmed = sent;
        this.#sent = undefined;
        this.#pending.written(writes);
        return;
      }
      if (this.#state === 'left') this.#refused = true;
      else if (restarts === this.#restarts) this.#stopAs('doubtful');
    } catch {
      // Redis is away, which its connection reports. The next ownership finds out whether this was written, before
      // anything else is: after a second write of unknown outcome the store could stand at more than one position.
      if (this.#state === 'reading' && restarts === this.#restarts) this.#stopAs('doubtful');
    }
    if (restarts === this.#restarts) this.#pending.putBack({ repeats, ...writes });
  }

  async #release(): Promise<void> {
    try {
      await this.progress.release(this.at, this.#claim.token);
      this.#released = true;
    } catch {
      // Redis is away, which its connection reports. The next flush tries again.
    }
  }
}
