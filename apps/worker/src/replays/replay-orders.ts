import type { Replays } from '@relay/progress';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { CatchUpPartition } from '../log/catch-up-partition.js';

const LOOK_MS = 1_000;

/** Replays that partners and operators have ordered: taken up by the owner of each partition, held up, and ended when cancelled. */
export class ReplayOrders {
  #paused: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(
    private readonly orders: Pick<Replays, 'orders' | 'rangesOf'>,
    private readonly partitions: () => readonly CatchUpPartition[],
    /** The topic that a replay is of; undefined when its webhook is not known here. */
    private readonly topicOf: (key: string) => string | undefined,
    private readonly log: ThrottledLog,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  isPaused(key: string): boolean {
    return this.#paused.has(key);
  }

  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      await this.#look();
    } catch (error) {
      this.log.warn('replay.waiting', 'Redis does not tell which replays are ordered; those under way go on', {
        reason: reasonOf(error),
      });
    } finally {
      this.#looking = false;
    }
  }

  async #look(): Promise<void> {
    // Read before the orders are: a replay that is not among them was cancelled, and is not newer than they are.
    const partitions = this.partitions().map((partition) => ({ partition, known: partition.replayKeys }));
    const { keys, paused } = await this.orders.orders();
    this.#paused = paused;
    for (const { partition, known } of partitions) {
      for (const key of known) if (!keys.has(key)) partition.forget(key);
      const { topic } = partition.at;
      const unknown = [...keys].filter(
        (key) => !partition.isKnownReplay(key) && (this.topicOf(key) ?? topic) === topic,
      );
      const found = await this.orders.rangesOf(partition.at, unknown);
      for (const [key, { ranges, counts }] of found) partition.replay(key, ranges, counts);
    }
  }
}
