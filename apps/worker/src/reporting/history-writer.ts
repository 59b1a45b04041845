import type { AttemptFacts } from '@relay/events';
import type { DeliveredLine, NewAttempts, ShardAttemptCounts, ShardHistory } from '@relay/history';
import type { PerShard } from '@relay/redis';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { ReadingPause } from '../log/reading-pause.js';

const BATCH = 500;
const EVERY_MS = 200;

/**
 * Writes deliveries and counts of attempts to the history of one shard, which partners read. It writes in batches,
 * and deliveries do not wait for it. A failed write is repeated, from a buffer of limited size. Lines are left out while the
 * memory of Redis is scarce, because accepted envelopes need that memory; their attempts are counted all the same.
 */
export class ShardHistoryWriter {
  #waiting: DeliveredLine[] = [];
  /** Attempts that are not counted yet, by webhook. */
  readonly #attempts = new Map<string, NewAttempts>();
  #writing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  /** @param mostLines maximum number of lines kept in memory while the shard does not answer; further lines are left out */
  constructor(
    private readonly history: Pick<ShardHistory, 'add'>,
    private readonly counts: Pick<ShardAttemptCounts, 'add'>,
    private readonly pause: Pick<ReadingPause, 'isMemoryScarce'>,
    private readonly log: ThrottledLog,
    private readonly mostLines: number,
  ) {
    this.#timer = setInterval(() => void this.#write(), EVERY_MS);
  }

  delivered(line: DeliveredLine): void {
    this.#count(line.webhookId, { delivered: 1 });
    if (this.#waiting.length < this.mostLines && !this.pause.isMemoryScarce) this.#waiting.push(line);
    else
      this.log.warn(
        'history.left_out',
        'Deliveries are missing from the history that partners read, because Redis does not answer or its memory is scarce; give Redis more memory or shorten HISTORY_WINDOW',
      );
  }

  failed(webhookId: string, last: AttemptFacts): void {
    this.#count(webhookId, { failed: 1, last });
  }

  /** Stores a webhook's latest successful attempt, with the endpoint's answer. */
  answered(webhookId: string, good: AttemptFacts): void {
    if (!this.pause.isMemoryScarce) this.#count(webhookId, { good });
  }

  #count(webhookId: string, attempts: Partial<NewAttempts>): void {
    const before = this.#attempts.get(webhookId);
    this.#attempts.set(webhookId, together(webhookId, before, attempts));
  }

  async #write(): Promise<void> {
    if (this.#writing !== undefined || this.#waiting.length + this.#attempts.size === 0) return;
    const both = Promise.all([this.#writeAll(), this.#writeCounts()]);
    this.#writing = both.then(() => undefined).finally(() => (this.#writing = undefined));
    await this.#writing;
  }

  async #writeCounts(): Promise<void> {
    while (this.#attempts.size > 0) {
      const batch = [...this.#attempts.values()].slice(0, BATCH);
      for (const { webhookId } of batch) this.#attempts.delete(webhookId);
      try {
        await this.counts.add(batch);
      } catch {
        // The connection logs that Redis does not answer. Part of the batch may be stored already, and is then counted
        // twice.
        for (const before of batch) {
          const { webhookId } = before;
          this.#attempts.set(webhookId, together(webhookId, before, this.#attempts.get(webhookId) ?? {}));
        }
        return;
      }
    }
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      try {
        await this.history.add(batch);
      } catch (error) {
        // Part of the batch may be stored already. A line that is written twice is shown twice.
        this.log.warn('history.delayed', 'Redis did not store lines of the history; the worker writes them again', {
          reason: reasonOf(error),
        });
        return;
      }
      this.#waiting.splice(0, batch.length);
    }
  }

  /** Writes the waiting lines and counts once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#write();
  }
}

/** Returns the attempts of a webhook with those that came after them. */
const together = (
  webhookId: string,
  before: NewAttempts | undefined,
  { failed = 0, delivered = 0, last = before?.last, good = before?.good }: Partial<NewAttempts>,
): NewAttempts => ({
  webhookId,
  failed: (before?.failed ?? 0) + failed,
  delivered: (before?.delivered ?? 0) + delivered,
  last,
  good,
});

/** Writes the history of all shards. If one shard does not answer, only the lines of that shard wait. */
export class HistoryWriter {
  constructor(private readonly parts: PerShard<ShardHistoryWriter>) {}

  /** Returns the writer of an envelope's shard. */
  of(envelopeId: string): Pick<ShardHistoryWriter, 'delivered' | 'failed' | 'answered'> {
    return this.parts.of(envelopeId);
  }

  /** Writes the waiting lines and counts once. */
  async close(): Promise<void> {
    await Promise.all(this.parts.all.map((part) => part.close()));
  }
}
