import type { LogPartition } from '@relay/progress';

/** Length of a refusal in ms that makes it a fault: Redis is away for some seconds now and then. */
const FAULT_AFTER_MS = 20_000;

interface Refusal {
  readonly since: number;
  readonly reason: string;
}

/**
 * Partitions that cannot be owned. Redis may refuse every write (it cannot save, or was made a replica) or leave a
 * step without an answer.
 */
export class RefusedPartitions {
  readonly #refusals = new Map<LogPartition, Refusal>();

  begun(at: LogPartition): void {
    this.#refusals.set(at, { since: Date.now(), reason: 'there is no answer yet' });
  }

  failed(at: LogPartition, reason: string): void {
    this.#refusals.set(at, { since: this.#refusals.get(at)?.since ?? Date.now(), reason });
  }

  over(at: LogPartition): void {
    this.#refusals.delete(at);
  }

  /** The fault in words; undefined while no refusal lasts long. */
  get fault(): string | undefined {
    for (const [{ topic, partition }, { since, reason }] of this.#refusals)
      if (Date.now() - since > FAULT_AFTER_MS)
        return `${topic}/${partition} cannot be owned: ${reason}; tried again every second`;
    return undefined;
  }
}
