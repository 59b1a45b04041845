import { globalKey } from '@relay/redis';
import { RESHARDING } from '@relay/progress';
import type { Redis } from 'ioredis';

const SHARDS = globalKey('shards');
/** The number before the last change, until its keys are deleted. */
const RESHARDED = globalKey('resharded');
/** Running replays, range key → id (`libs/replays`). */
const REPLAYS = globalKey('replays');
const PAUSED = globalKey('replays', 'paused');

/** A replay as its order shows it from now on. */
export interface NewOrder {
  readonly key: string;
  /** Partition → range text. */
  readonly texts: Readonly<Record<string, string>>;
  /** No flush will end it any more. */
  readonly hasEnded: boolean;
}

/** The number of shards that the state is divided into, and the one before whose keys are not deleted yet. */
export async function storedNumbers(redis: Redis): Promise<{ current: number; before: number | undefined }> {
  const [current, before] = await redis.mget(SHARDS, RESHARDED);
  return { current: Number(current ?? 1), before: before == null ? undefined : Number(before) };
}

/**
 * Changes the number, and the orders of replays with it, in one transaction.
 * @param token of the mark under which the state was copied
 * @throws Error when the mark is gone: a role may have started
 */
export async function switchNumber(
  redis: Redis,
  token: string,
  [from, to]: readonly [number, number],
  orders: readonly NewOrder[],
): Promise<void> {
  await redis.watch(RESHARDING);
  if ((await redis.get(RESHARDING)) !== token) throw new Error(CUT_OFF);
  const change = redis.multi().set(SHARDS, to).set(RESHARDED, from);
  for (const { key, texts, hasEnded } of orders) {
    if (Object.keys(texts).length > 0) change.hset(globalKey('parked', key), texts);
    if (hasEnded) change.hset(globalKey('parked', key), 'endedAt', Date.now()).hdel(REPLAYS, key).srem(PAUSED, key);
  }
  const done = await change.exec();
  if (done === null) throw new Error(CUT_OFF);
  for (const [error] of done) if (error !== null) throw error;
}

const CUT_OFF =
  'This process stood still for so long that a role may have started meanwhile: nothing was changed. Stop all roles and run this again';

/** The keys of the number before are deleted. */
export const forgetBefore = async (redis: Redis): Promise<void> => void (await redis.del(RESHARDED));

/** The range keys of the replays that run or are paused. */
export const runningReplays = async (redis: Redis): Promise<ReadonlySet<string>> => new Set(await redis.hkeys(REPLAYS));
