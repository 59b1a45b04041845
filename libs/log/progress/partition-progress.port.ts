import type { SeenEntry } from '@relay/dedupe';
import type { Parking, ParkingWrite } from './parking.js';

/** One partition of a topic, or one shard's part of it. */
export interface LogPartition {
  topic: string;
  partition: number;
  /** Number of the shard, which alone keeps the progress of its part; absent if the deployment has one shard (docs/adr/0028). */
  shard?: number;
  /** Number of shards; absent with `shard`. */
  shards?: number;
}

/**
 * Every offset of a partition below `highWater` is settled. `sequence` counts the flushes and ownerships. A worker that finds
 * another sequence than it wrote knows that another worker wrote or that the store went back.
 */
export interface Position {
  highWater: number;
  sequence: number;
}

/** How far a partition was read, which shows later whether Kafka still holds the same log. */
export interface ReadTo {
  /** No record at or beyond this offset was handed out. */
  next: number;
  /** Largest time at which a record below `next` was written, by the clock of its broker; 0 if none is known. */
  newest: number;
  /** Kafka's id of the topic, then ids of earlier topics of its name; empty if the brokers have no ids. */
  topicIds?: readonly string[];
}

/** The position that a new owner finds. `read` is that of the last flush. */
export interface OwnedPosition extends Position {
  read?: ReadTo | undefined;
}

/**
 * State of an envelope id in the store:
 * - `open`: it is not settled, even if an ingress has marked it with other content
 * - `duplicate`: it is settled
 * - `conflict`: it is settled with other content
 */
export type LookUpResult = 'open' | 'duplicate' | 'conflict';

export interface LookUp {
  results: LookUpResult[];
  /** Version of the registry at the look-up: matching needs a view of at least this version. */
  registryVersion: number;
}

/** How a worker takes ownership of a partition. */
export interface Ownership {
  /** High water to begin with when the store has none. */
  start?: number | undefined;
  /** Takes the partition also from an owner that has not released it, which may have died or be too slow. */
  take: boolean;
  /**
   * Name of the claim; each claim has a new name. A claim that is repeated under its name, after its answer was lost, returns
   * the first answer.
   */
  claim?: string;
}

/** The settled webhooks of an envelope while deliveries to others still run. */
export interface PartialMark {
  id: string;
  webhookIds: readonly string[];
}

export interface Flush {
  token: string;
  /** Position of the last confirmed flush. */
  confirmed: Position;
  /** Position of a later flush whose reply was lost: Redis may hold either. */
  sent?: Position | undefined;
  /** Position to write. Its high water is lower than before if Kafka lost the end of the log. */
  next: Position;
  read?: ReadTo | undefined;
  settled: readonly SeenEntry[];
  partial: readonly PartialMark[];
  /** Envelopes whose partial marks are no longer needed. */
  whole: readonly string[];
  /** Changes of the ranges. */
  parking?: ParkingWrite | undefined;
}

/**
 * Progress of the log's readers, kept in the same store as marks and jobs, so that all of them go back together when the store
 * loses its latest writes (docs/adr/0003). All calls reject while the store is away; the caller repeats them.
 */
export abstract class PartitionProgress {
  /**
   * Makes `token` the partition's owner; later flushes under another token are refused. Raises the sequence by one: the new
   * owner relies on the writes of earlier owners, so a store that goes back behind this moment must be detected.
   * @returns the position to read from; undefined when the store has none and `start` is absent; `owned-elsewhere`, without a
   *   change, while another owner ends its deliveries and the partition is not to be taken
   */
  abstract own(at: LogPartition, token: string, how: Ownership): Promise<OwnedPosition | 'owned-elsewhere' | undefined>;

  /** Gives a partition up, so that the next owner need not wait. Called when none of its deliveries runs and all is written. */
  abstract release(at: LogPartition, token: string): Promise<void>;

  /**
   * If the shard has the progress of all these partitions and no recovery runs, stores a mark in it that says so.
   * @param read all partitions that were read, of one shard; at least one
   * @returns whether this is stored, by this call or an earlier one
   */
  abstract rememberKnown(read: readonly LogPartition[]): Promise<boolean>;

  /**
   * Whether `rememberKnown` has stored this in the shard. If so, the shard was not lost. If it does not know
   * a partition, it was restored from a copy that is older than the first read of that partition.
   */
  abstract wasKnown(at: LogPartition): Promise<boolean>;

  /** Looks up the ids of a chunk, all of one shard; writes nothing. */
  abstract lookUp(at: LogPartition, entries: readonly SeenEntry[]): Promise<LookUp>;

  /**
   * Writes marks and high water together. Returns false, without a write, if owner or position are not those of this worker's
   * last flush.
   */
  abstract flush(at: LogPartition, flush: Flush): Promise<boolean>;

  /** Returns the ranges of this partition; for its owner only. */
  abstract parking(at: LogPartition): Promise<Parking>;
  /** Returns the webhook ids already settled, by envelope id. */
  abstract partials(at: LogPartition, ids: readonly string[]): Promise<Map<string, Set<string>>>;
}
