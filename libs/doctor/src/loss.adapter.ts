import { recoveryKey, type RedisPartitionProgress } from '@relay/progress';
import type { Shard } from '@relay/redis';

/** Prefix of the tokens of recoveries. */
export const TOKEN = 'recovery-';

/** A partition of a topic of envelopes, and the offset that the workers’ group committed (-1: none). */
export interface ReadPartition {
  readonly topic: string;
  readonly partition: number;
  readonly committed: number;
}

export interface Loss<P extends ReadPartition> {
  /** The partitions that Redis does not know, and those that an earlier recovery began. */
  readonly lost: readonly P[];
  /** Redis was lost and is not fully recovered. */
  readonly isLost: boolean;
  /** A recovery was begun and has not ended. */
  readonly isBegun: boolean;
}

/** Whether Redis knows the progress in the log. A new relay has read nothing and lost nothing. */
export async function lossOf<P extends ReadPartition>(
  events: readonly P[],
  shard: Shard,
  progress: Pick<RedisPartitionProgress, 'owners'>,
): Promise<Loss<P>> {
  const isBegun = (await shard.redis.exists(recoveryKey(shard))) === 1;
  const owners = await progress.owners(events);
  const unknown = events.filter((_, index) => owners[index] === undefined);
  const begun = events.filter((_, index) => owners[index]?.startsWith(TOKEN));
  const wasRead = unknown.some(({ committed }) => committed > 0);
  return { lost: [...unknown, ...begun], isLost: isBegun || wasRead, isBegun };
}
