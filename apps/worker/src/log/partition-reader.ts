import { randomUUID } from 'node:crypto';
import type { SeenEntry } from '@relay/dedupe';
import { Tracker, type LogPartition, type Parking, type PartitionProgress, type Position } from '@relay/progress';
import type { Log } from '@relay/telemetry';
import { pause } from './pause.js';
import { CatchUpPartition } from './catch-up-partition.js';
import type { RecordHandle } from './log-chunk.js';
import { PartitionRecord } from './partition-record.js';
import { PendingWrites } from './pending-writes.js';

/**
 * One partition while this worker reads it.
 *
 * - `owning`: just assigned, or Redis was reconnected, or a flush was refused. Nothing is handed out or written until
 *   the store has confirmed us as the owner and said where to read from.
 * - `reading`: records are handed out; every flush writes marks and high water together.
 * - `doubtful`: a flush was refused: another owner, or Redis went back in time. Left only through `own`, which the
 *   reader of the log calls after the next successful heartbeat, so a zombie never takes a partition back.
 * - `lost`: the store knows nothing of a log that was read before. An operator must act; nothing is handed out.
 * - `left`: the partition went to another member. Running deliveries end, and their marks are written until a flush is refused.
 */
type State = 'owning' | 'reading' | 'doubtful' | 'lost' | 'left';

/**
 * How long the earlier owner of a partition may take to end its running deliveries. It releases the partition as soon
 * as they have ended, mostly within milliseconds; longer ones are attempted twice. A killed owner releases nothing,
 * so this time adds to the recovery from a crash.
 */
const HAND_OVER_MS = 3_000;
const HAND_OVER_STEP_MS = 50;

export class PartitionReader {
  #state: State = 'owning';
  readonly #token = randomUUID();
  #tracker: Tracker | undefined;
  #confirmed: Position = { highWater: -1, sequence: -1 };
  #sent: Position | undefined;
  #generation = 0;
  /** How often reading was interrupted. */
  #interruptions = 0;
  #flushing: Promise<void> | undefined;
  readonly #pending = new PendingWrites();
  #refused = false;
  /** How often Redis was reconnected. An ownership, and the jobs stored again after it, hold until the next reconnection. */
  #doubts = 0;
  #released = false;
  /** Id of a claim without an answer yet; Redis may still have received it. */
  #claimId: string | undefined;

  constructor(
    readonly at: LogPartition,
    private readonly progress: PartitionProgress,
    private readonly log: Log,
    private readonly handOverMs = HAND_OVER_MS,
  ) {}

  get state(): State {
    return this.#state;
  }

  /** Next offset to hand out; undefined until the first record shows where the log begins. */
  get next(): number | undefined {
    return this.#tracker?.next;
  }

  get highWater(): number | undefined {
    return this.#state === 'reading' && this.#tracker !== undefined ? this.#confirmed.highWater : undefined;
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
    return this.#tracker !== undefined && this.#tracker.highWater > this.#confirmed.highWater;
  }

  /**
   * Becomes the owner. With `start`, begins there where the store knows nothing (or with `reset` in any case).
   * @returns where to read from; undefined when the store knows nothing and no start was given
   */
  async own(start?: number, reset = false): Promise<number | undefined> {
    await this.#flushing;
    for (let doubts = -1; doubts !== this.#doubts;) {
      doubts = this.#doubts;
      const position = await this.#claim(start, reset);
      if (this.#hasLeft || position === undefined) return undefined;
      if (this.#tracker !== undefined && (same(position, this.#confirmed) || same(position, this.#sent))) {
        await this.#goOn(position);
      } else {
        const parking = await this.progress.parking(this.at); // only the owner writes it
        if (this.#hasLeft) return undefined;
        this.#restart(position, reset ? { ...parking, dropped: [], next: 0 } : parking);
        if (reset) this.#pending.forgetParked();
      }
      if (this.#hasLeft) return undefined;
    }
    this.#state = 'reading';
    return this.#tracker?.next;
  }

  get #hasLeft(): boolean {
    return this.#state === 'left';
  }

  /** Waits a moment for an owner that still has running deliveries, which would be attempted twice otherwise. */
  async #claim(start: number | undefined, reset: boolean): Promise<Position | undefined> {
    const since = performance.now();
    for (;;) {
      const take = performance.now() - since >= this.handOverMs;
      this.#claimId ??= randomUUID();
      const found = await this.progress.own(this.at, this.#token, { start, reset, take, claim: this.#claimId });
      if (found !== 'held') this.#claimId = undefined;
      if (found !== 'held') return found;
      if (this.#state === 'left') return undefined;
      await pause(HAND_OVER_STEP_MS);
    }
  }

  /** The store holds our last write. Only later adds may be lost, so they are stored again before the next flush. */
  async #goOn(position: Position): Promise<void> {
    this.#confirmed = owned(position);
    this.#sent = undefined;
    await Promise.all(this.#pending.repeats.map((repeat) => repeat()));
  }

  /**
   * Reads again from the store's position: deliveries that were settled here but are not marked there are attempted
   * again.
   */
  #restart(position: Position, parking: Parking): void {
    if (this.#tracker !== undefined) {
      this.log.warn(
        'log.went_back',
        'The position in Redis of this partition is not the last one written; the worker reads again from that position',
        {
          ...this.at,
          highWater: position.highWater,
          wrote: this.#confirmed.highWater,
        },
      );
    }
    this.#generation += 1;
    this.#tracker = new Tracker(position.highWater);
    this.#confirmed = owned(position);
    this.#sent = undefined;
    this.#pending.clear(parking);
  }

  #stopAs(state: Exclude<State, 'owning' | 'reading'>): void {
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

  /** Settled records are still written, unless Redis may have gone back and lost jobs that were added. */
  leave(): void {
    this.#refused = this.#state !== 'reading';
    this.#stopAs('left');
  }

  /** Changes whenever reading restarts elsewhere: records fetched before must no longer be handed out. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Starts a record; undefined when it was handed out before or nothing may be handed out now. `generation` is that
   * in which its batch was fetched: a later record of an older generation would look like the far side of a gap, and
   * all records before it like settled ones.
   */
  accept(offset: number, generation = this.#generation): RecordHandle | undefined {
    const tracker = this.#tracker;
    if (generation !== this.#generation || this.#state !== 'reading') return undefined;
    if (tracker === undefined || !tracker.accept(offset)) return undefined;
    return new PartitionRecord(offset, this, tracker, this.#pending);
  }

  /** The partition's parked webhooks and replays; undefined while nothing may be handed out. */
  catchUpPartition(): CatchUpPartition | undefined {
    const tracker = this.#tracker;
    if (this.#state !== 'reading' || tracker === undefined) return undefined;
    const [generation, interruptions] = [this.#generation, this.#interruptions];
    return new CatchUpPartition(this.at, this.#pending, tracker, {
      counts: () => generation === this.#generation,
      // Not again after an interruption: records that were skipped meanwhile would count as looked at.
      mayBegin: () =>
        generation === this.#generation && interruptions === this.#interruptions && this.#state === 'reading',
    });
  }

  /** Whether an envelope is settled here, although its mark may not be written yet: a repeat of it is a duplicate. */
  isSettled(entry: SeenEntry): boolean {
    return this.#pending.isSettled(entry);
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

    const generation = this.#generation;
    const { repeats, ...writes } = this.#pending.take(tracker.next);
    const sent = { highWater: tracker.highWater, sequence: (this.#sent ?? this.#confirmed).sequence + 1 };
    const flush = { token: this.#token, confirmed: this.#confirmed, sent: this.#sent, next: sent, ...writes };
    this.#sent = sent;
    try {
      if (await this.progress.flush(this.at, flush)) {
        if (generation !== this.#generation) return;
        this.#confirmed = sent;
        this.#sent = undefined;
        this.#pending.written(writes);
        return;
      }
      if (this.#state === 'left') this.#refused = true;
      else if (generation === this.#generation) this.#stopAs('doubtful');
    } catch {
      // Redis is away, which its connection reports. The next ownership finds out whether this was written, before
      // anything else is: after a second write of unknown outcome the store could stand at more than one position.
      if (this.#state === 'reading' && generation === this.#generation) this.#stopAs('doubtful');
    }
    if (generation === this.#generation) this.#pending.putBack({ repeats, ...writes });
  }

  async #release(): Promise<void> {
    try {
      await this.progress.release(this.at, this.#token);
      this.#released = true;
    } catch {
      // Redis is away, which its connection reports. The next flush tries again.
    }
  }
}

/** Our own position after an ownership, which has raised the sequence. */
const owned = ({ highWater, sequence }: Position): Position => ({ highWater, sequence: sequence + 1 });

const same = (a: Position, b: Position | undefined): boolean =>
  b !== undefined && a.highWater === b.highWater && a.sequence === b.sequence;
