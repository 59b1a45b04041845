/** For so long a failure is told of where nothing is sent after it, or what nobody sends to would never turn back. */
const TOLD_MS = 30_000;

interface Failure {
  readonly at: number;
  readonly reason: string;
}

/**
 * Partitions whose newest record was not stored. Brokers may answer every question and take no record: too few replicas in
 * sync, no leader, a full disk, a right that was taken away.
 */
export class FailedSends {
  readonly #newest = new Map<string, Failure>();

  failed(topic: string, partition: number, reason: string, now: number): void {
    this.#newest.set(nameOf(topic, partition), { at: now, reason });
  }

  stored(topic: string, partition: number): void {
    if (this.#newest.size > 0) this.#newest.delete(nameOf(topic, partition));
  }

  /** The brokers were away and are back: what failed meanwhile says nothing of now. */
  forget(): void {
    this.#newest.clear();
  }

  /** In words; undefined while nothing fails. */
  fault(now: number): string | undefined {
    for (const [name, { at, reason }] of this.#newest) {
      if (now - at < TOLD_MS) return `${name} takes no records: ${reason}`;
      this.#newest.delete(name);
    }
    return undefined;
  }
}

const nameOf = (topic: string, partition: number): string => `${topic}/${partition}`;
