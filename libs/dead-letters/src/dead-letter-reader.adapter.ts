import { DEAD_LETTERS_QUEUE, JobBodies, ShardQueues } from '@relay/jobs';
import type { Shards } from '@relay/redis';
import { DeadLetterIndex } from './dead-letter-index.adapter.js';
import { type DeadLetter, StoredDeadLetter } from './dead-letter.js';

/** Dead letters read at once: with its body one has up to 256 KiB. */
const SLICE = 50;

/** A dead letter without its body, unless the body is small. */
export interface FoundDeadLetter {
  readonly id: string;
  readonly stored: StoredDeadLetter;
}

/** No worker takes jobs from this queue, but Bull Board lets an operator move them between states. */
const STATES = ['waiting', 'prioritized', 'delayed', 'failed'] as const;

export class DeadLetterReader {
  readonly #queues: ShardQueues;
  readonly #bodies: JobBodies;
  readonly #index: DeadLetterIndex;

  constructor(shards: Shards) {
    this.#bodies = new JobBodies(shards);
    this.#index = new DeadLetterIndex(shards);
    this.#queues = new ShardQueues(DEAD_LETTERS_QUEUE, shards);
  }

  /** The ids at this moment, oldest first within a shard; later changes of the queue do not move a walk through them. */
  async ids(): Promise<string[]> {
    const found = await this.#queues.each(async (queue) => (await queue.open()).getRanges([...STATES], 0, -1, true));
    return found.flat();
  }

  /** The ids of a webhook, oldest first; some may have been removed. */
  async idsOf(webhookId: string): Promise<string[]> {
    const found = await this.#index.ofWebhook(webhookId, {}, Number.MAX_SAFE_INTEGER);
    return found.map(({ id }) => id).toReversed();
  }

  async count(): Promise<number> {
    const counts = await this.#queues.each(async (queue) => (await queue.open()).getJobCountByTypes(...STATES));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  /** The dead letters of these ids in slices, without removed ones. Rejects on a record of a newer relay. */
  async *read(ids: readonly string[]): AsyncGenerator<FoundDeadLetter[]> {
    for (let at = 0; at < ids.length; at += SLICE) {
      const slice = await Promise.all(ids.slice(at, at + SLICE).map((id) => this.#find(id)));
      yield slice.filter((letter) => letter !== undefined);
    }
  }

  async #find(id: string): Promise<FoundDeadLetter | undefined> {
    const job = await (await this.#queues.of(id).open()).getJob(id);
    if (job === undefined) return undefined;
    const read = StoredDeadLetter.safeParse(job.data);
    if (!read.success) throw new Error(`The dead letter ${id} is of a format that this relay does not know: update it`);
    return { id, stored: read.data };
  }

  /** The body is empty when Redis has lost it. */
  async withBody({ stored }: FoundDeadLetter): Promise<DeadLetter> {
    return { ...stored, v: 1, body: (await this.#bodies.of(stored)) ?? '' };
  }

  /** @returns how many of them were in the queue */
  async remove(letters: readonly FoundDeadLetter[]): Promise<number> {
    const removed = await Promise.all(letters.map(async ({ id }) => (await this.#queues.of(id).open()).remove(id)));
    await Promise.all(letters.map(({ stored }) => this.#bodies.release(stored)));
    await this.#index.ended(letters.map(({ id }) => id));
    return removed.filter((count) => count > 0).length;
  }

  close(): Promise<void> {
    return this.#queues.close();
  }
}
