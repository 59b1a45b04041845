import { bullOptions, DEAD_LETTERS_QUEUE, DeadLetter } from '@relay/retry';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';

/** Letters read at once: a body has up to 256 KiB. */
const SLICE = 50;

export interface StoredLetter {
  readonly id: string;
  readonly letter: DeadLetter;
}

/** The dead letters in their queue. */
export class DeadLetterBox {
  readonly #queue: Queue;

  constructor(redis: Redis) {
    this.#queue = new Queue(DEAD_LETTERS_QUEUE, bullOptions(redis));
    this.#queue.on('error', () => undefined);
  }

  /** The ids at this moment, oldest first; letters that come or go later do not move what a caller walks through. */
  async ids(): Promise<string[]> {
    // Nobody works on this queue, but Bull Board lets an operator move its jobs about.
    return this.#queue.getRanges(['waiting', 'prioritized', 'delayed', 'failed'], 0, -1, true);
  }

  /** The letters of these ids in slices, those gone meanwhile left out. Rejects on a record of a newer relay. */
  async *read(ids: readonly string[]): AsyncGenerator<StoredLetter[]> {
    for (let at = 0; at < ids.length; at += SLICE) {
      const jobs = await Promise.all(ids.slice(at, at + SLICE).map((id) => this.#queue.getJob(id)));
      yield jobs.flatMap((job) => (job?.id === undefined ? [] : [{ id: job.id, letter: lettersOf(job.id, job.data) }]));
    }
  }

  /** How many of them were there. */
  async remove(ids: readonly string[]): Promise<number> {
    const removed = await Promise.all(ids.map((id) => this.#queue.remove(id)));
    return removed.filter((count) => count > 0).length;
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

function lettersOf(id: string, data: unknown): DeadLetter {
  const read = DeadLetter.safeParse(data);
  if (!read.success) throw new Error(`The dead letter ${id} is of a format that this relay does not know: update it`);
  return read.data;
}
