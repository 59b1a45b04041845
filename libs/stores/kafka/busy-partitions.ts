/** Partitions of a topic. */
export interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}
/** The records of one partition in the answer to a fetch. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  isEmpty(): boolean;
}

/** A consumer with at most this number of partitions always fetches all of them. */
const FEW_PARTITIONS = 256;
/**
 * Time between the starts of two fetches of all partitions, for each partition. The client and the broker spend some 3 µs for
 * each partition of a fetch, even if it has no records.
 */
const INTERVAL_MS = 0.2;
/** A partition is busy for this time after its last record. */
const BUSY_MS = 1_000;

/**
 * The partitions that had records a moment ago. A busy log answers each fetch at once. So a consumer with many partitions
 * spends most of its time on partitions without records, if it names all of them in each fetch. It therefore fetches the
 * busy partitions alone, and all partitions from time to time.
 */
export class BusyPartitions {
  readonly #seen = new Map<string, { readonly topic: string; readonly partition: number; readonly at: number }>();
  #nextOfAll = 0;

  /** Records the answer to a fetch. @param now in milliseconds, as for `choose` */
  saw(batches: readonly FetchedBatch[], now: number): void {
    for (const batch of batches) {
      const { topic, partition } = batch;
      if (!batch.isEmpty()) this.#seen.set(`${topic}/${partition}`, { topic, partition, at: now });
    }
  }

  /**
   * Chooses the partitions of the next fetch. Returns undefined for a fetch of all partitions; otherwise the busy ones, and
   * how long the broker may wait for records in milliseconds.
   * @param isAssigned whether the consumer still reads a partition
   * @param partitions number of all partitions that the consumer reads
   */
  choose(
    now: number,
    partitions: number,
    isAssigned: (topic: string, partition: number) => boolean,
  ): { readonly topics: TopicPartitions[]; readonly waitMs: number } | undefined {
    const topics = new Map<string, number[]>();
    for (const [key, { topic, partition, at }] of this.#seen) {
      if (now - at > BUSY_MS || !isAssigned(topic, partition)) this.#seen.delete(key);
      else topics.set(topic, [...(topics.get(topic) ?? []), partition]);
    }
    const waitMs = Math.ceil(this.#nextOfAll - now);
    if (partitions > FEW_PARTITIONS && waitMs > 0 && topics.size > 0)
      return { topics: [...topics].map(([topic, found]) => ({ topic, partitions: found })), waitMs };
    this.#nextOfAll = now + partitions * INTERVAL_MS;
    return undefined;
  }
}
