/**
 * State of a partition that this worker reads.
 *
 * - `owning`: just assigned. Nothing is handed out or written until the store has confirmed this worker as the owner and given
 *   the position to read from.
 * - `reading`: records are handed out; every flush writes marks and high water together.
 * - `doubtful`: a flush was refused, Redis was reconnected, or the log is shorter. It ends only by `own`, which the reader of the
 *   log calls only while this worker is in the group, so a zombie never takes a partition back.
 * - `lost`: the store knows nothing of a log that was read before. An operator must act; nothing is handed out.
 * - `left`: the partition went to another member. Running deliveries end, and their marks are written until a flush is refused.
 */
export type PartitionState = 'owning' | 'reading' | 'doubtful' | 'lost' | 'left';
