import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { RESHARDING } from '@relay/progress';
import { defineScript, globalKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';

const SHARDS = globalKey('shards');
/** The number of shards before the last change. It is stored until the keys of the old layout are deleted. */
const RESHARDED = globalKey('resharded');
/** Maps the range key of each running replay to its id (`libs/backlog/replays`). */
const REPLAYS = globalKey('replays');
const PAUSED = globalKey('replays', 'paused');

/**
 * The order of a replay, as it is after the change. An order is the stored request for a replay: the ranges of the log that
 * it delivers.
 */
export interface NewOrder {
  readonly key: string;
  /** Partition → range text. */
  readonly texts: Readonly<Record<string, string>>;
  /**
   * Whether a running or paused replay has no ranges left to deliver. Workers end a replay when they store the progress of
   * its last range. They will store none for this replay, so `switchNumber` ends it.
   */
  readonly hasEnded: boolean;
}

/** Returns the number of shards, and the number before the last change if keys of the old layout are left. */
export async function storedNumbers(redis: Redis): Promise<{ current: number; before: number | undefined }> {
  const [current, before] = await redis.mget(SHARDS, RESHARDED);
  return { current: Number(current ?? 1), before: before == null ? undefined : Number(before) };
}

/**
 * Changes the number of shards, and the stored orders of replays with it, in one transaction.
 * @param token value of the `ReshardMark` under which the state was copied
 * @throws Error if that mark is gone or has another value, because a role may have started meanwhile
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

export const forgetBefore = async (redis: Redis): Promise<void> => void (await redis.del(RESHARDED));

export const runningReplays = async (redis: Redis): Promise<ReadonlySet<string>> => new Set(await redis.hkeys(REPLAYS));

/** How long the mark stays after its process was killed. */
const KEPT_MS = 15_000;
const RENEWED_MS = 3_000;
const LOOK_MS = 200;

const renew = defineScript(
  'reshard-renew',
  "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0",
);
const end = defineScript(
  'reshard-end',
  "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0",
);

/**
 * Marks Redis while the number of shards changes. A role looks for the mark after it has connected, and does not start if it
 * finds one.
 */
export class ReshardMark {
  readonly token = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<unknown> = Promise.resolve();

  private constructor(private readonly redis: Redis) {}

  /** Waits until the mark of an earlier run is gone, then runs `work` under its own mark. */
  static async during<T>(
    redis: Redis,
    note: (text: string) => void,
    work: (mark: ReshardMark) => Promise<T>,
  ): Promise<T> {
    const mark = new ReshardMark(redis);
    let isTold = false;
    while ((await redis.set(RESHARDING, mark.token, 'PX', KEPT_MS, 'NX')) === null) {
      if (!isTold) note('Another `relay reshard` runs, or was killed within the last 15 s: waiting until it is over');
      isTold = true;
      await delay(LOOK_MS);
    }
    mark.#keep();
    try {
      return await work(mark);
    } finally {
      await mark.#rest();
      await runScript(redis, end, [RESHARDING], [mark.token]).catch(() => undefined);
    }
  }

  /**
   * Runs a transaction that fails if the mark changes. The mark is not renewed meanwhile, because a renewal is a change too.
   */
  async still<T>(work: (token: string) => Promise<T>): Promise<T> {
    await this.#rest();
    await runScript(this.redis, renew, [RESHARDING], [this.token, KEPT_MS]);
    try {
      return await work(this.token);
    } finally {
      this.#keep();
    }
  }

  #keep(): void {
    this.#timer = setInterval(() => {
      // A mark that has expired is not set again, so the change of the number fails.
      this.#renewing = runScript(this.redis, renew, [RESHARDING], [this.token, KEPT_MS]).catch(() => undefined);
    }, RENEWED_MS);
  }

  async #rest(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }
}
