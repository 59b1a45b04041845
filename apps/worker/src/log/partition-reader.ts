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
 * State of a partition that this worker reads.
 *
 * - `owning`: just assigned. Nothing is handed out or written until the store has confirmed this worker as the owner and given
 *   the position to read from.
 * - `reading`: records are handed out; every flush writes marks and high water together.
 * - `doubtful`: a flush was refused, Redis was reconnected, or the log is shorter. It ends only by `own`, which the reader of the
 *   log calls only while this worker is in the group, so a zombie never takes a partition back.
 * - `lost`: the store knows nothing of a log that was read before. An operator must act; nothing is handed out.
 * - `left`: the partition went to another member. Running deliveries end, and their marks are written until a flush is refused.
 */
export type PartitionState = 'owning' | 'reading' | 'doubtful' | 'lost' | 'left';

/** One partition, or one shard's part of it, while this worker reads it. */
export class PartitionReader {
  #state: PartitionState = 'owning';
  #tracker: Tracker | undefined;
  #confirmed: Position = { highWater: -1, sequence: -1 };
  #sent: Position | undefined;
  readonly #read = new ReadSoFar();
  /** Epoch of the leader that wrote the last record read; undefined before the first record. */
  leaderEpoch: number | undefined;
  /** Records below this offset may have been handed out before. */
  #readAgainBelow = 0;
  #restarts = 0;
  #interruptions = 0;
  #flushing: Promise<void> | undefined;
  readonly #pending = new PendingWrites();
  #refused = false;
  /** Number of reconnections of Redis. An ownership, and the jobs stored again after it, hold until the next reconnection. */
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

  /**
   * Whether the partition has no other reader. If so, this reader takes up every record, and may begin at the first one that it
   * meets.
   */
  get isAlone(): boolean {
    return this.at.shard === undefined;
  }

  /** End of the offsets that are settled and written, and of the empty ones that follow them. */
  get settledTo(): number | undefined {
    return this.#state === 'reading' ? this.#tracker?.beyond(this.#confirmed.highWater) : undefined;
  }

  get running(): number {
    return (this.#tracker?.running ?? 0) + this.#pending.parked.running;
  }

  /**
   * Whether a partition that left is over: its deliveries have ended and are marked and it was released, or another member owns
   * it.
   */
  get over(): boolean {
    return this.#state === 'left' && (this.#refused || this.#released);
  }

  /** Whether nothing waits to be written and nothing is being written. */
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

  /** Takes this topic id as the log's, unless another is known. @param topicId asked for before the first record was fetched */
  isOf(topicId: string | undefined): void {
    this.#read.isOf(topicId);
  }

  /**
   * Becomes the owner. If the store knows nothing, begins at `start` in a log that was handed out up to `readTo`.
   * @param lost finds out whether Kafka has lost records that were read; called before anything is handed out
   * @returns the offset to read from; undefined if the store knows nothing and no start was given
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

  /**
   * Continues, because the store holds our last write. Only later adds may be lost, so they are stored again before the next
   * flush.
   */
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

  /**
   * Restarts at the first offset that may hold a record never read, after Kafka lost records. The next flush writes the position.
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

  /** Begins at an offset. Returns false if the partition has left meanwhile. */
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

  /** Stops writing after Redis was reconnected, until ownership is confirmed again. */
  doubt(): void {
    this.#doubts += 1;
    if (this.#state === 'reading') this.#stopAs('doubtful');
  }

  lose(): void {
    this.#stopAs('lost');
  }

  /**
   * Leaves the partition. Settled records are still written, unless Redis may have gone back and lost jobs that were added. A
   * partition that has none, such as one that was claimed and not read yet, is released.
   */
  leave(): void {
    this.#refused = this.#state !== 'reading' && (this.running > 0 || !this.#written);
    this.#stopAs('left');
  }

  /** Number of restarts at another offset. Records fetched before a restart must no longer be handed out. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * Starts a record; returns undefined if it was handed out before or nothing may be handed out now. `restarts` is the number
   * when its batch was fetched. Without it, a record fetched before a restart looks like the far side of a gap, and all records
   * before it look settled.
   */
  accept(offset: number, restarts = this.#restarts, time = 0): PartitionRecord | undefined {
    const tracker = this.#tracker;
    if (restarts !== this.#restarts || this.#state !== 'reading') return undefined;
    if (tracker === undefined || !tracker.accept(offset)) return undefined;
    this.#read.saw(time);
    return new PartitionRecord(offset, offset < this.#readAgainBelow, this, tracker, this.#pending);
  }

  /**
   * Passes the records below `to`, which were handed out or belong to the shards of other readers.
   * @param restarts as for `accept`
   * @param time largest time of these records
   */
  passed(to: number, restarts: number, time: number): void {
    if (restarts !== this.#restarts || this.#state !== 'reading') return;
    this.#tracker?.pass(to);
    this.#read.saw(time);
  }

  /** Notes that the log holds no record at the offsets `[from, to)`. */
  foundEmpty(from: number, to: number): void {
    this.#tracker?.foundEmpty(from, to);
  }

  /** Returns the partition's parked webhooks and replays; undefined while nothing may be handed out. */
  catchUpPartition(): CatchUpPartition | undefined {
    const tracker = this.#tracker;
    if (this.#state !== 'reading' || tracker === undefined) return undefined;
    const [restarts, interruptions] = [this.#restarts, this.#interruptions];
    return new CatchUpPartition(this.at, this.#pending, tracker, {
      counts: () => restarts === this.#restarts,
      // A pass never resumes after an interruption; otherwise skipped records count as read.
      mayBegin: () => restarts === this.#restarts && interruptions === this.#interruptions && this.#state === 'reading',
    });
  }

  /** The content hash of an envelope that runs here, or is settled and not known to be marked yet. */
  hashOf(envelopeId: string): string | undefined {
    return this.#pending.hashOf(envelopeId);
  }

  /**
   * Writes the results since the last flush, one flush at a time. With `compare`, compares positions even if nothing was settled.
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
      // Redis is away, which its connection reports. The next ownership finds out whether this was written before anything else
      // is: after a second write of unknown outcome, more than one position of the store is possible.
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

/** Returns our own position after an ownership, which has raised the sequence. */
const owned = ({ highWater, sequence }: Position): Position => ({ highWater, sequence: sequence + 1 });

const same = (a: Position, b: Position | undefined): boolean =>
  b !== undefined && a.highWater === b.highWater && a.sequence === b.sequence;

/**
 * Longest wait in ms for the earlier owner of a partition to end its running deliveries, and the interval of the claims. The
 * owner releases the partition as soon as they have ended, mostly within milliseconds; longer deliveries are attempted twice. A
 * killed owner releases nothing, so this time adds to the recovery from a crash.
 */
const [HAND_OVER_MS, HAND_OVER_STEP_MS] = [3_000, 50];

/** Takes the ownership of a partition, under one token for as long as a worker reads it. */
class PartitionClaim {
  readonly token = randomUUID();
  /** Id of a claim without an answer yet; Redis may still have received it. */
  #id: string | undefined;

  constructor(
    private readonly at: LogPartition,
    private readonly progress: Pick<PartitionProgress, 'own'>,
    private readonly handOverMs = HAND_OVER_MS,
  ) {}

  /** Claims the partition. Waits a moment for an owner with running deliveries, which are attempted twice otherwise. */
  async make(start: number | undefined, hasLeft: () => boolean): Promise<OwnedPosition | undefined> {
    const since = performance.now();
    // A claim after the release of a partition that has left keeps its next owner waiting.
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
