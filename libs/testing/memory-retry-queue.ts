import type { DeadLetter } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import type { QueuedDelivery } from '@relay/jobs';
import { RetryQueue } from '@relay/retry';
import type { MemoryState } from './memory-state.js';

/** The queue in memory; the caller decides when a job is due. */
export class MemoryRetryQueue extends RetryQueue {
  constructor(private readonly state: MemoryState) {
    super();
  }

  async add({ job }: QueuedDelivery): Promise<void> {
    this.state.write(({ jobs }) => {
      if (!jobs.has(deliveryId(job))) jobs.set(deliveryId(job), job);
    });
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    this.state.write(({ deadLetters }) => {
      if (!deadLetters.has(deliveryId(letter))) deadLetters.set(deliveryId(letter), letter);
    });
  }

  async existing(ids: readonly string[]): Promise<Set<string>> {
    const { jobs, deadLetters } = this.state.now;
    return new Set(ids.filter((id) => jobs.has(id) || deadLetters.has(id)));
  }

  async purge(olderThanMs: number): Promise<number> {
    const before = Date.now() - olderThanMs;
    return this.state.write(({ deadLetters }) => {
      const old = [...deadLetters].filter(([, letter]) => letter.diedAt <= before);
      for (const [id] of old) deadLetters.delete(id);
      return old.length;
    });
  }

  async close(): Promise<void> {
    // Holds no connection.
  }
}
