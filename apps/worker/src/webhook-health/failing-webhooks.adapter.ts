import { Injectable } from '@nestjs/common';
import { defineScript, NOTICE_LINES, NOTICES, noticeLinesLua, globalKey, runScript } from '@relay/redis';
import { FAILING } from '@relay/webhooks';
import { Redis } from 'ioredis';

/** Key of a hash: the highest warning by webhook id. */
const WARNED = globalKey('failing', 'warned');

const warn = defineScript(
  'webhook-warned',
  `${noticeLinesLua}
   if tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) >= tonumber(ARGV[2]) then return 0 end
   redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
   if ARGV[3] ~= '' then keep_notice('${NOTICE_LINES}', ARGV[3], ${NOTICES.graceMs}) end
   return 1`,
);

/** A webhook that only fails. */
export interface Failing {
  /** Time of the first failure in a row, in epoch milliseconds. */
  readonly since: number;
  /** Highest warning so far, in per cent of the time until it is disabled. */
  readonly warned: number;
  /** Version of the registration at the first failure. */
  readonly version: number;
}

/** Webhooks whose attempts fail, shared by all workers. */
@Injectable()
export class FailingWebhooks {
  constructor(private readonly redis: Redis) {}

  async all(): Promise<Map<string, Failing>> {
    const [since, warned] = await Promise.all([this.redis.hgetall(FAILING), this.redis.hgetall(WARNED)]);
    return new Map(
      Object.entries(since).map(([id, text]) => {
        const [at = 0, version = 0] = text.split(' ').map(Number);
        return [id, { since: at, warned: Number(warned[id] ?? 0), version }];
      }),
    );
  }

  /** Stores the first failure in a row. An earlier one is kept unless it was of an older version (`isAnew`). */
  async begin(id: string, now: number, version: number, isAnew: boolean): Promise<void> {
    const text = `${now} ${version}`;
    if (isAnew) await this.redis.multi().hset(FAILING, id, text).hdel(WARNED, id).exec();
    else await this.redis.hsetnx(FAILING, id, text);
  }

  /**
   * Stores a warning with the notice to the partner; returns false if another worker has warned already.
   * @param notice the notice as a line; undefined if the partner was notified within the hour
   */
  async warned(id: string, percent: number, notice: string | undefined): Promise<boolean> {
    return Number(await runScript(this.redis, warn, [WARNED], [id, percent, notice ?? ''])) === 1;
  }

  /** Forgets a webhook that succeeded or was disabled. */
  async end(id: string): Promise<void> {
    await this.redis.multi().hdel(FAILING, id).hdel(WARNED, id).exec();
  }
}
