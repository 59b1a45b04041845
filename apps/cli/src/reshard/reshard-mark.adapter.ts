import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { RESHARDING } from '@relay/progress';
import { defineScript, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';

/** How long the mark outlives a process that was killed. */
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

/** Marks Redis while the number of shards changes, so that no role starts: each looks for the mark once it is connected. */
export class ReshardMark {
  readonly token = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<unknown> = Promise.resolve();

  private constructor(private readonly redis: Redis) {}

  /** Runs `work` under the mark, once the mark of an earlier run is gone. */
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

  /** Runs a transaction that fails when the mark changes: nothing renews it meanwhile. */
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
      // A mark that has expired stays away: the change of the number then fails.
      this.#renewing = runScript(this.redis, renew, [RESHARDING], [this.token, KEPT_MS]).catch(() => undefined);
    }, RENEWED_MS);
  }

  async #rest(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }
}
