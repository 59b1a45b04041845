import { randomUUID } from 'node:crypto';
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
import { ReadSoFar, type LogLoss, type LossOf } from './log-loss.js';
import { PartitionRecord, PendingWrites } from './pending-writes.js';
import { pause } from './timing.js';

/**
 * State of a partition that is assigned to this worker.
 *
 * - `owning`: The partition was just assigned. Nothing is dispatched or written until Redis has confirmed this worker as the
 *   owner and returned the position from which to read.
 * - `reading`: Records are dispatched. Each flush writes marks and high water together.
 * - `doubtful`: Redis refused a flush, Redis was reconnected, or the log is shorter than before. The state ends only with
 *   `own`. `LogReader` calls `own` only while this worker is a member of the group, so a worker that was removed from the
 *   group never takes a partition back.
 * - `lost`: Redis knows nothing of a log that was read before. Nothing is dispatched until an operator acts.
 * - `left`: The partition was assigned to another worker. Deliveries in flight end, and are marked until Redis refuses a
 *   flush.
 */
export type PartitionState = 'owning' | 'reading' | 'doubtful' | 'lost' | 'left';

/** One partition while it is assigned to this worker. If there are several shards, the part of one shard. */
export class PartitionReader {
  #state: PartitionState = 'owning';
  #tracker: Tracker | undefined;
  #confirmed: Position = { highWater: -1, sequence: -1 };
  #sent: Position | undefined;
  readonly #read = new ReadSoFar();
  /** Epoch of the leader that wrote the last record read. Undefined before the first record. */
  leaderEpoch: number | undefined;
  /** Records below this offset may have been dispatched before. */
  #readAgainBelow = 0;
  #restarts = 0;
  #interruptions = 0;
  #flushing: Promise<void> | undefined;
  readonly #pending = new PendingWrites();
  #refused = false;
  /**
   * Number of reconnections to Redis. After each reconnection, Redis may have lost its latest writes. The ownership must
   * then be confirmed and the jobs must be stored again.
   */
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

  /** Next offset to dispatch. Undefined until the first record shows where the log begins. */
  get next(): number | undefined {
    return this.#tracker?.next;
  }

  /**
   * Whether the partition has only this reader. If so, the reader handles every record, and may start at the first record
   * that it gets.
   */
  get isAlone(): boolean {
    return this.at.shard === undefined;
  }

  /** End of the offsets whose records are settled and written. Offsets without records that follow are included. */
  get settledTo(): number | undefined {
    return this.#state === 'reading' ? this.#tracker?.beyond(this.#confirmed.highWater) : undefined;
  }

  get running(): number {
    return (this.#tracker?.running ?? 0) + this.#pending.parked.running;
  }

  /**
   * Whether this worker has nothing more to do for a partition in the state `left`. Either this worker has released the
   * partition after its deliveries had ended and were marked in Redis, or it must not write any more, because another worker
   * may own the partition.
   */
  get over(): boolean {
    return this.#state === 'left' && (this.#refused || this.#released);
  }

  /** Whether nothing needs to be written and no write is in progress. */
  get flushed(): boolean {
    return this.#flushing === undefined && this.#written && (this.#state !== 'left' || this.over);
  }

  get #written(): boolean {
    return !this.#behind && this.#pending.isEmpty;
  }

  get #behind(): boolean {
    return this.#tracker !== undefined && this.#tracker.highWater !== this.#confirmed.highWater;
  }

  /** How far this worker or an earlier owner has read the partition. */
  get read(): ReadTo {
    return this.#read.to(this.next);
  }

  /** Stores the id of the topic if none is known yet. @param topicId must be requested before the first record is fetched */
  isOf(topicId: string | undefined): void {
    this.#read.isOf(topicId);
  }

  /**
   * Takes the ownership. If Redis knows nothing of the partition, starts at `start`.
   * @param lost checks whether Kafka has lost records that were already read; called before anything is dispatched
   * @param readTo offset up to which the log was dispatched before, if Redis does not know it
   * @returns the offset from which to read; undefined if Redis knows nothing and `start` is not given
   */
  async own(start?: number, lost?: LossOf, readTo = 0): Promise<number | undefined> {
    await this.#flushing;
    for (let doubts = -1; doubts !== this.#doubts;) {
      doubts = this.#doubts;
      const position = await this.#claim.make(start, () => this.#hasLeft);
      if (position === undefined) return undefined;
      if (this.#hasLeft) {
        // Redis may have received the release before this claim, so the partition is released again.
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

  /**
   * Continues at the current position, because Redis still has the last write of this worker. Redis can only have lost jobs
   * that were stored after it. These are stored again before the next flush.
   */
  async #goOn(position: Position): Promise<void> {
    this.#confirmed = owned(position);
    this.#sent = undefined;
    await Promise.all(this.#pending.repeats.map((repeat) => repeat()));
  }

  /** Reads again from the position in Redis. Deliveries that are not marked there are attempted again. */
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

  /**
   * Reads again after Kafka lost records, from the first offset that may hold a record that was never read. The next flush
   * writes the new position.
   */
  async #cut({ end, sameBelow, topicIds }: LogLoss): Promise<void> {
    const start = Math.min(this.#confirmed.highWater, sameBelow);
    const { next, newest } = this.read;
    const before = { next: 0, newest: topicIds === undefined ? newest : 0, topicIds: topicIds ?? [] };
    if (!(await this.#beginAt(start, before))) return;
    this.#readAgainBelow = next;
    if (topicIds === undefined) this.#pending.parked.cut(end, sameBelow);
    else this.#pending.parked.renew(end, next);
  }

  /** Starts at an offset. Returns false if the partition was assigned to another worker in the meantime. */
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

  /** Stops writing after Redis was reconnected, until the ownership is confirmed again. */
  doubt(): void {
    this.#doubts += 1;
    if (this.#state === 'reading') this.#stopAs('doubtful');
  }

  lose(): void {
    this.#stopAs('lost');
  }

  /**
   * Gives up the partition. Settled records are still written, unless Redis may have lost its latest writes, including
   * stored jobs. If there is nothing to write, the partition is released.
   */
  leave(): void {
    this.#refused = this.#state !== 'reading' && (this.running > 0 || !this.#written);
    this.#stopAs('left');
  }

  /** Number of restarts at another offset. Records that were fetched before a restart must not be dispatched. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * Starts a record. Returns undefined if the record was dispatched before, or if nothing may be dispatched now.
   * @param restarts value of `restarts` when the batch was fetched; without it, a record that was fetched before a restart
   *   looks like the end of a gap, and all records before it count as settled
   */
  accept(offset: number, restarts = this.#restarts, time = 0): PartitionRecord | undefined {
    const tracker = this.#tracker;
    if (restarts !== this.#restarts || this.#state !== 'reading') return undefined;
    if (tracker === undefined || !tracker.accept(offset)) return undefined;
    this.#read.saw(time);
    return new PartitionRecord(offset, offset < this.#readAgainBelow, this, tracker, this.#pending);
  }

  /**
   * Marks all records below `to` as passed. They were dispatched or belong to the shards of other readers.
   * @param restarts same as for `accept`
   * @param time largest timestamp of these records
   */
  passed(to: number, restarts: number, time: number): void {
    if (restarts !== this.#restarts || this.#state !== 'reading') return;
    this.#tracker?.pass(to);
    this.#read.saw(time);
  }

  /** Stores the information that the log has no records at the offsets `[from, to)`. */
  foundEmpty(from: number, to: number): void {
    this.#tracker?.foundEmpty(from, to);
  }

  /**
   * Returns the partition for the catch-up of its parked webhooks and replays. Undefined while nothing may be dispatched.
   */
  catchUpPartition(): CatchUpPartition | undefined {
    const tracker = this.#tracker;
    if (this.#state !== 'reading' || tracker === undefined) return undefined;
    const [restarts, interruptions] = [this.#restarts, this.#interruptions];
    return new CatchUpPartition(this.at, this.#pending, tracker, {
      counts: () => restarts === this.#restarts,
      // A pass never continues after an interruption. Otherwise, records that it has skipped count as read.
      mayBegin: () => restarts === this.#restarts && interruptions === this.#interruptions && this.#state === 'reading',
    });
  }

  /** Returns the content hash of an envelope that is in flight, or is settled but not yet confirmed as written to Redis. */
  hashOf(envelopeId: string): string | undefined {
    return this.#pending.hashOf(envelopeId);
  }

  /**
   * Writes the results since the last flush. Only one flush runs at a time.
   * @param compare whether to compare the position with Redis even if there is nothing to write
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
      // Redis is unavailable, which its connection reports. The next ownership must find out whether this write succeeded
      // before anything else is written. After two writes with an unknown result, Redis may have one of several positions.
      if (this.#state === 'reading' && restarts === this.#restarts) this.#stopAs('doubtful');
    }
    if (restarts === this.#restarts) this.#pending.putBack({ repeats, ...writes });
  }

  async #release(): Promise<void> {
    try {
      await this.progress.release(this.at, this.#claim.token);
      this.#released = true;
    } catch {
      // Redis is unavailable, which its connection reports. The next flush tries again.
    }
  }
}

/** Returns the position in Redis after this worker has become the owner, because that increases the sequence by one. */
const owned = ({ highWater, sequence }: Position): Position => ({ highWater, sequence: sequence + 1 });

const same = (a: Position, b: Position | undefined): boolean =>
  b !== undefined && a.highWater === b.highWater && a.sequence === b.sequence;

/**
 * Maximum time in ms to wait until the earlier owner of a partition has ended its deliveries, and the interval at which the
 * partition is claimed again. The earlier owner releases it after its last delivery, mostly within milliseconds. Deliveries
 * that take longer are attempted twice. A killed owner releases nothing, so a recovery from a crash takes this much longer.
 */
const [HAND_OVER_MS, HAND_OVER_STEP_MS] = [3_000, 50];

/** Claims the ownership of a partition. All claims of one reader use the same token. */
class PartitionClaim {
  readonly token = randomUUID();
  /** Id of a claim that has no answer yet. Redis may have received the claim nevertheless. */
  #id: string | undefined;

  constructor(
    private readonly at: LogPartition,
    private readonly progress: Pick<PartitionProgress, 'own'>,
    private readonly handOverMs = HAND_OVER_MS,
  ) {}

  /**
   * Claims the partition. If the former owner still has deliveries in flight, waits a moment first. Deliveries that have not
   * ended by then are attempted twice.
   */
  async make(start: number | undefined, hasLeft: () => boolean): Promise<OwnedPosition | undefined> {
    const since = performance.now();
    // The loop must stop when the partition was assigned to another worker. A claim after the release delays that worker.
    while (!hasLeft()) {
      const take = performance.now() - since >= this.handOverMs;
      this.#id ??= randomUUID();
      const found = await this.progress.own(this.at, this.token, { start, take, claim: this.#id });
      if (found !== 'owned-elsewhere') this.#id = undefined;
      if (found !== 'owned-elsewhere') return found;
      await pause(HAND_OVER_STEP_MS);
    }
    return undefined;
  }
}
