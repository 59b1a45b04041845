import type { DeliveredLine, RedisDeliveryHistory } from '@relay/history';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

/** Lines kept in memory while Redis is away; what comes on top is left out. */
const MAX_WAITING = 20_000;
const BATCH = 500;
const EVERY_MS = 200;

/**
 * Remembers what was delivered, beside the path of delivery: batched, repeated, bounded. Left out where Redis' memory is
 * scarce, for what is accepted needs it: the history would stop the reading that it tells of.
 */
export class HistoryWriter {
  #waiting: DeliveredLine[] = [];
  #writing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly history: Pick<RedisDeliveryHistory, 'add'>,
    private readonly isScarce: () => boolean,
    private readonly log: ThrottledLog,
  ) {
    this.#timer = setInterval(() => void this.#write(), EVERY_MS);
  }

  delivered(line: DeliveredLine): void {
    if (this.#waiting.length < MAX_WAITING && !this.isScarce()) this.#waiting.push(line);
    else
      this.log.warn(
        'history.left_out',
        'Deliveries are left out of the history that partners read: Redis is away or its memory is scarce; give it more, or shorten HISTORY_WINDOW',
      );
  }

  async #write(): Promise<void> {
    if (this.#writing !== undefined || this.#waiting.length === 0) return;
    this.#writing = this.#writeAll().finally(() => (this.#writing = undefined));
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      try {
        await this.history.add(batch);
      } catch (error) {
        // Written in part at worst: a line that stands there twice is shown twice.
        this.log.warn('history.delayed', 'Redis did not take lines of the history; they are written again', {
          reason: reasonOf(error),
        });
        return;
      }
      this.#waiting.splice(0, batch.length);
    }
  }

  /** Writes what waits, once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#write();
  }
}
