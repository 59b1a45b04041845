/** A failure is reported for 30 s if no later record goes to that partition; otherwise an idle partition would stay unhealthy forever. */
const REPORTED_MS = 30_000;

interface Failure {
  readonly at: number;
  readonly reason: string;
}

/**
 * Partitions whose newest record was not stored. Brokers may answer every other request and yet take no record: too few
 * replicas in sync, no leader, a full disk, a revoked right.
 */
export class FailedSends {
  readonly #newest = new Map<string, Failure>();

  failed(topic: string, partition: number, reason: string, now: number): void {
    this.#newest.set(nameOf(topic, partition), { at: now, reason });
  }

  stored(topic: string, partition: number): void {
    if (this.#newest.size > 0) this.#newest.delete(nameOf(topic, partition));
  }

  /** The brokers are back: earlier failures no longer count. */
  forget(): void {
    this.#newest.clear();
  }

  /** In words; undefined without failures. */
  fault(now: number): string | undefined {
    for (const [name, { at, reason }] of this.#newest) {
      if (now - at < REPORTED_MS) return `${name} takes no records: ${reason}`;
      this.#newest.delete(name);
    }
    return undefined;
  }
}

const nameOf = (topic: string, partition: number): string => `${topic}/${partition}`;
