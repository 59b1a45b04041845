import type { SeenEntry } from '@relay/dedupe';
import type { Parking, ParkingWrite } from './parking.js';

/** One partition of a topic, or what belongs to one shard of it. */
export interface LogPartition {
  topic: string;
  partition: number;
  /** Number of the shard, whose progress is kept in it alone; absent where a deployment has one (docs/adr/0028). */
  shard?: number;
  /** How many there are; absent with the number. */
  shards?: number;
}

/**
 * Every offset of a partition below `highWater` is settled. `sequence` counts the flushes and ownerships, so a worker that finds
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
  /** The largest time of a record below it: that of its writing, by the clock of its broker. 0 when none is known. */
  newest: number;
  /** Kafka's id of the topic whose log it is, then those of topics of this name that are gone; none where brokers have no ids. */
  topicIds?: readonly string[];
}

/** What a new owner finds. `read` is that of the last flush. */
export interface OwnedPosition extends Position {
  read?: ReadTo | undefined;
}

/**
 * What the store knows of an envelope id:
 * - `open`: it is not settled, with whatever content an ingress has published it
 * - `duplicate`: it is settled
 * - `conflict`: it is settled with other content
 */
export type LookUpResult = 'open' | 'duplicate' | 'conflict';

export interface LookUp {
  results: LookUpResult[];
  /** Version of the registry at that moment: matching needs a view of at least this version. */
  registryVersion: number;
}

/** How a worker takes ownership of a partition. */
export interface Ownership {
  /** High water to begin with when the store has none. */
  start?: number | undefined;
  /** Takes the partition also from an owner that has not released it, which may have died or be too slow. */
  take: boolean;
  /** A new name for each claim: repeated under the same name, after its answer was lost, it returns the first answer. */
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
  /** A lower high water than before when Kafka lost the end of the log. */
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

  /** Gives a partition up, so that the next owner need not wait; to be called when none of its deliveries runs and all is written. */
  abstract release(at: LogPartition, token: string): Promise<void>;

  /**
   * Remembers that the shard knows the progress of all partitions that were read, if it does and no recovery runs.
   * @param read all of them, of one shard; at least one
   * @returns whether the shard remembers it, from now on or from an earlier call
   */
  abstract rememberKnown(read: readonly LogPartition[]): Promise<boolean>;

  /**
   * Whether the shard remembers that. If so it was not lost: a partition that it does not know was read for the first time after the
   * copy that the shard was restored from.
   */
  abstract wasKnown(at: LogPartition): Promise<boolean>;

  /** Looks up the ids of a chunk, all of one shard; writes nothing. */
  abstract lookUp(at: LogPartition, entries: readonly SeenEntry[]): Promise<LookUp>;

  /** Writes marks and high water together; false, without a write, when owner or position are not those of this worker's last flush. */
  abstract flush(at: LogPartition, flush: Flush): Promise<boolean>;

  /** The ranges of this partition; for its owner only. */
  abstract parking(at: LogPartition): Promise<Parking>;
  /** Webhook ids already settled, by envelope id. */
  abstract partials(at: LogPartition, ids: readonly string[]): Promise<Map<string, Set<string>>>;
}
