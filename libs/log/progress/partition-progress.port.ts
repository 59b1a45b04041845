import type { SeenEntry } from '@relay/dedupe';
import type { Parking, ParkingWrite } from './parking.js';

/** One partition of a topic. With several shards, only the part of the partition that belongs to one shard. */
export interface LogPartition {
  topic: string;
  partition: number;
  /**
   * Number of the shard, if there are several. The progress of this part of the partition is kept in that shard only
   * (docs/adr/0028).
   */
  shard?: number;
  /** Number of shards; absent if `shard` is absent. */
  shards?: number;
}

/**
 * Position in a partition. Every offset below `highWater` is settled. `sequence` is raised by each flush and each change of
 * owner. If a worker finds another sequence than the one that it wrote, another worker has written, or the store has lost
 * its latest writes.
 */
export interface Position {
  highWater: number;
  sequence: number;
}

/** How far a partition was read. After a restart, it is used to check whether Kafka still has the same log. */
export interface ReadTo {
  /** Next offset to dispatch: no record at or beyond it was dispatched. */
  next: number;
  /** Largest write time of a record below `next`, by the clock of the broker that wrote it; 0 if no time is known. */
  newest: number;
  /**
   * Kafka's id of the topic, followed by the ids of earlier topics with the same name; empty if the brokers have no topic
   * ids.
   */
  topicIds?: readonly string[];
}

/** The position that a new owner finds. `read` was stored by the last flush. */
export interface OwnedPosition extends Position {
  read?: ReadTo | undefined;
}

/**
 * State of an envelope id in the store:
 * - `open`: the id is not settled. A mark of an ingress, which says that the ingress has published this id, does not settle
 *   it, even if the ingress published other content.
 * - `duplicate`: the id is settled with the same content
 * - `conflict`: the id is settled with other content
 */
export type LookUpResult = 'open' | 'duplicate' | 'conflict';

export interface LookUp {
  results: LookUpResult[];
  /**
   * Version of the registry at the look-up. Envelopes must be matched by a view of the registry of at least this version.
   */
  registryVersion: number;
}

/** How a worker takes ownership of a partition. */
export interface Ownership {
  /** High water to begin with, if the store has none. */
  start?: number | undefined;
  /** Whether to take the partition from an owner that has not released it. That owner may have died or may be too slow. */
  take: boolean;
  /**
   * Name of this claim; each claim has a new name. If the answer to a claim was lost, the claim can be repeated under the
   * same name and returns the first answer.
   */
  claim?: string;
}

/** The webhooks of an envelope whose deliveries are settled while other deliveries of the envelope are still in progress. */
export interface PartialMark {
  id: string;
  webhookIds: readonly string[];
}

export interface Flush {
  token: string;
  /** Position of the last confirmed flush. */
  confirmed: Position;
  /** Position of a later flush whose reply was lost. The store may have this position or the confirmed one. */
  sent?: Position | undefined;
  /** Position to write. Its high water may be lower than before, if Kafka has lost the end of the log. */
  next: Position;
  read?: ReadTo | undefined;
  settled: readonly SeenEntry[];
  partial: readonly PartialMark[];
  /** Ids of envelopes whose partial marks are no longer needed. */
  whole: readonly string[];
  /** Changes of ranges. */
  parking?: ParkingWrite | undefined;
}

/**
 * Progress of the workers in the log. It is kept in the same store as the seen marks and jobs. If that store loses its
 * latest writes, all of them go back together (docs/adr/0003). All calls reject while the store cannot be reached; the
 * caller repeats them.
 */
export abstract class PartitionProgress {
  /**
   * Makes `token` the owner of the partition. Later flushes with another token are refused. It also raises the sequence by
   * one. If the store later loses this change of owner, the sequence shows it.
   * @returns the position to read from; undefined if the store has none and `start` is absent; `owned-elsewhere`, without
   *   any change, if the partition has another owner and `take` is false
   */
  abstract own(at: LogPartition, token: string, how: Ownership): Promise<OwnedPosition | 'owned-elsewhere' | undefined>;

  /**
   * Gives the partition up, so that the next owner does not have to wait. Called after all deliveries of the partition have
   * ended and everything is written.
   */
  abstract release(at: LogPartition, token: string): Promise<void>;

  /**
   * Stores a mark in the shard that says that the shard knows all these partitions. The mark is stored only if the shard has
   * the progress of all of them and no recovery is running.
   * @param read all partitions of one shard that were read; at least one
   * @returns whether the shard has the mark, from this call or an earlier one
   */
  abstract rememberKnown(read: readonly LogPartition[]): Promise<boolean>;

  /**
   * Whether the shard has the mark of `rememberKnown`. If it has the mark but no progress of a partition, it was not
   * emptied: it was restored from a backup that is older than the first read of that partition.
   */
  abstract wasKnown(at: LogPartition): Promise<boolean>;

  /** Looks up the ids of a chunk of records, all of the same shard. It writes nothing. */
  abstract lookUp(at: LogPartition, entries: readonly SeenEntry[]): Promise<LookUp>;

  /**
   * Writes marks and high water together. Returns false, without any write, if the store has another owner, or neither the
   * confirmed nor the sent position.
   */
  abstract flush(at: LogPartition, flush: Flush): Promise<boolean>;

  /** Returns the ranges of this partition. Only its owner may call this. */
  abstract parking(at: LogPartition): Promise<Parking>;
  /** Returns the ids of the webhooks that are already settled, by envelope id. */
  abstract partials(at: LogPartition, ids: readonly string[]): Promise<Map<string, Set<string>>>;
}
