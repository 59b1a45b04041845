import { Inject, Injectable } from '@nestjs/common';
import { RedisDeliveryHistory, type DeliveredLine } from '@relay/history';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { ReadingPause } from '../log/reading-pause.js';

/** Lines kept in memory while Redis is away; further ones are left out. */
const MAX_WAITING = 20_000;
const BATCH = 500;
const EVERY_MS = 200;

/**
 * Writes what was delivered to the history that partners read, beside the path of delivery: batched, repeated,
 * bounded. Lines are left out while Redis' memory is scarce, because accepted envelopes need it.
 */
@Injectable()
export class HistoryWriter {
  #waiting: DeliveredLine[] = [];
  #writing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(
    @Inject(RedisDeliveryHistory) private readonly history: Pick<RedisDeliveryHistory, 'add'>,
    @Inject(ReadingPause) private readonly pause: Pick<ReadingPause, 'isMemoryScarce'>,
    private readonly log: ThrottledLog,
  ) {
    this.#timer = setInterval(() => void this.#write(), EVERY_MS);
  }

  delivered(line: DeliveredLine): void {
    if (this.#waiting.length < MAX_WAITING && !this.pause.isMemoryScarce) this.#waiting.push(line);
    else
      this.log.warn(
        'history.left_out',
        'Deliveries are missing from the history that partners read, because Redis does not answer or its memory is scarce; give Redis more memory or shorten HISTORY_WINDOW',
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
        // Some of the batch may be written: a line that is written twice is shown twice.
        this.log.warn('history.delayed', 'Redis did not store lines of the history; the worker writes them again', {
          reason: reasonOf(error),
        });
        return;
      }
      this.#waiting.splice(0, batch.length);
    }
  }

  /** Writes the waiting lines once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#write();
  }
}
