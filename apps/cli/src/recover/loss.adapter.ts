import { RECOVERY, type RedisPartitionProgress } from '@relay/progress';
import type { Redis } from 'ioredis';
import type { EventRange } from './recovery-log.adapter.js';

/** What a recovery's tokens begin with. */
export const TOKEN = 'recovery-';

export interface Loss {
  /** The partitions of which Redis knows nothing, and those that a recovery before has begun. */
  readonly lost: readonly EventRange[];
  /** Redis was lost, and nothing of it is recovered yet or not all. */
  readonly isLost: boolean;
  /** A recovery was begun and has not ended. */
  readonly isBegun: boolean;
}

/** Whether Redis knows how far the log was read. A new relay has read nothing and has lost nothing. */
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
