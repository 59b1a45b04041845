import type { SeenEntry } from '@relay/dedupe';
import type { Parking, ParkingWrite } from './parked-ranges.js';

/** One partition of a topic. */
export interface LogPartition {
  topic: string;
  partition: number;
}

/**
 * How far a partition is settled: every offset below `highWater` is. `sequence` counts the writes that said so and the
 * ownerships, so whoever finds another one than it left knows that somebody else wrote or that the store went back.
 */
export interface Position {
  highWater: number;
  sequence: number;
}

/**
 * What a reservation found of an envelope:
 * - `new`: nobody has started it
 * - `again`: started before with this content, by a worker that crashed, or by this one (the caller knows)
 * - `duplicate`: settled
 * - `conflict`: the id was first used with other content
 */
export type ReservationResult = 'new' | 'again' | 'duplicate' | 'conflict';

export interface Reservation {
  verdicts: ReservationResult[];
  /** Version of the registrations at that moment: whoever matches webhooks must have seen at least this one. */
  registryVersion: number;
}

/** How a partition is to be owned. */
export interface Ownership {
  /** High water to begin with where the store knows none. */
  start?: number | undefined;
  /** Replaces what the store knows by `start`: the log was recreated and ends below it. */
  reset?: boolean;
  /** Also from an owner that has not released it: it may have died, or be taking too long. */
  take: boolean;
  /** Names this claim, new for each: under the same name again, after its answer was lost, it finds what it found the first time. */
  claim?: string;
}

/** Webhooks of an envelope that are settled while others of it still run. */
export interface PartialMark {
  id: string;
  webhookIds: readonly string[];
}

export interface Flush {
  token: string;
  /** The position whose write was last confirmed. */
  confirmed: Position;
  /** The position last sent, when its reply was lost: Redis may hold either. */
  sent?: Position | undefined;
  next: Position;
  settled: readonly SeenEntry[];
  partial: readonly PartialMark[];
  /** Envelopes whose partial marks are no longer needed. */
  whole: readonly string[];
  /** What changed of the parked webhooks. */
  parking?: ParkingWrite | undefined;
}

/**
 * Progress of the log's readers, kept where the marks and jobs are, so that all of it goes back together when the
 * store loses its latest writes (docs/adr/0003). All calls reject while the store is away; the caller repeats them.
 */
export abstract class PartitionProgress {
  /**
   * Makes `token` the partition's owner; every later flush under another token is refused. Raises the sequence by one:
   * what an earlier owner had stored may be relied upon now, so going back behind this moment must be seen.
   * @returns the position found, to read from; undefined when the store knows none and no `start` was given; `held`
   *   while another owner ends what runs, unless it is to be taken: nothing has changed then
   */
  abstract own(at: LogPartition, token: string, how: Ownership): Promise<Position | 'held' | undefined>;

  /** Gives a partition up when nothing of it runs and all is written, so that the next owner need not wait. */
  abstract release(at: LogPartition, token: string): Promise<void>;

  /** Looks the ids of a chunk up and marks them as started, in one round trip. */
  abstract reserve(entries: readonly SeenEntry[]): Promise<Reservation>;

  /** Writes marks and high water together; false when owner or position are not what this worker wrote last: nothing is written then. */
  abstract flush(at: LogPartition, flush: Flush): Promise<boolean>;

  /** What waits in this partition for parked webhooks; to be asked by its owner. */
  abstract parking(at: LogPartition): Promise<Parking>;
  /** Webhook ids already settled, by envelope id. */
  abstract partials(at: LogPartition, ids: readonly string[]): Promise<Map<string, Set<string>>>;
}
