import { bullOptions, DEAD_LETTERS_QUEUE, JobBodies } from '@relay/jobs';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { LetterIndex } from './dead-letter-index.adapter.js';
import type { DeadLetter } from './dead-letter.js';
import { StoredDeadLetter } from './stored-dead-letter.js';

/** Letters read at once: with its body one has up to 256 KiB. */
const SLICE = 50;

/** A dead letter without its body, unless that is a small one. */
export interface FoundDeadLetter {
  readonly id: string;
  readonly stored: StoredDeadLetter;
}

/** Nobody works on this queue, but Bull Board lets an operator move its jobs about. */
const STATES = ['waiting', 'prioritized', 'delayed', 'failed'] as const;

/** The dead letters in their queue. */
export class DeadLetterBox {
  readonly #queue: Queue;
  readonly #bodies: JobBodies;
  readonly #index: LetterIndex;

  constructor(redis: Redis) {
    this.#bodies = new JobBodies(redis);
    this.#index = new LetterIndex(redis);
    this.#queue = new Queue(DEAD_LETTERS_QUEUE, bullOptions(redis));
    this.#queue.on('error', () => undefined);
  }

  /** The ids at this moment, oldest first; letters that come or go later do not move what a caller walks through. */
  async ids(): Promise<string[]> {
    return this.#queue.getRanges([...STATES], 0, -1, true);
  }

  /** Those of a webhook, in the order in which they died; some may be gone. */
  async idsOf(webhookId: string): Promise<string[]> {
    const found = await this.#index.ofWebhook(webhookId, {}, Number.MAX_SAFE_INTEGER);
    return found.map(({ id }) => id).toReversed();
  }

  /** How many there are. */
  count(): Promise<number> {
    return this.#queue.getJobCountByTypes(...STATES);
  }

  /** The letters of these ids in slices, those gone meanwhile left out. Rejects on a record of a newer relay. */
  async *read(ids: readonly string[]): AsyncGenerator<FoundDeadLetter[]> {
    for (let at = 0; at < ids.length; at += SLICE) {
      const slice = await Promise.all(ids.slice(at, at + SLICE).map((id) => this.#letter(id)));
      yield slice.filter((letter) => letter !== undefined);
    }
  }

  async #letter(id: string): Promise<FoundDeadLetter | undefined> {
    const job = await this.#queue.getJob(id);
    if (job === undefined) return undefined;
    const read = StoredDeadLetter.safeParse(job.data);
    if (!read.success) throw new Error(`The dead letter ${id} is of a format that this relay does not know: update it`);
    return { id, stored: read.data };
  }

  /** With its body, which is empty when Redis has lost it. */
  async whole({ stored }: FoundDeadLetter): Promise<DeadLetter> {
    return { ...stored, v: 1, body: (await this.#bodies.of(stored)) ?? '' };
  }

  /** How many of them were there. */
  async remove(letters: readonly FoundDeadLetter[]): Promise<number> {
    const removed = await Promise.all(letters.map(({ id }) => this.#queue.remove(id)));
    await Promise.all(letters.map(({ stored }) => this.#bodies.release(stored)));
    await this.#index.ended(letters.map(({ id }) => id));
    return removed.filter((count) => count > 0).length;
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
