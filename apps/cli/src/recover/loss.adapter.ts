import { RECOVERY, type RedisPartitionProgress } from '@relay/progress';
import type { Redis } from 'ioredis';
import type { EventRange } from './recovery-log.adapter.js';

/** Prefix of the tokens of recoveries. */
export const TOKEN = 'recovery-';

export interface Loss {
  /** The partitions that Redis does not know, and those that an earlier recovery began. */
  readonly lost: readonly EventRange[];
  /** Redis was lost and is not fully recovered. */
  readonly isLost: boolean;
  /** A recovery was begun and has not ended. */
  readonly isBegun: boolean;
}

/** Whether Redis knows the progress in the log. A new relay has read nothing and lost nothing. */
export async function lossOf(
  events: readonly EventRange[],
  redis: Redis,
  progress: RedisPartitionProgress,
): Promise<Loss> {
  const isBegun = (await redis.exists(RECOVERY)) === 1;
  const owners = await progress.owners(events);
  const unknown = events.filter((_, index) => owners[index] === undefined);
  const begun = events.filter((_, index) => owners[index]?.startsWith(TOKEN));
  const wasRead = unknown.some(({ committed }) => committed > 0);
  return { lost: [...unknown, ...begun], isLost: isBegun || wasRead, isBegun };
}
