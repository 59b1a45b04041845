import { Injectable } from '@nestjs/common';
import { defineScript, NOTICE_LINES, NOTICES, noticeLinesLua, globalKey, runScript } from '@relay/redis';
import { FAILING } from '@relay/webhooks';
import { Redis } from 'ioredis';

/** Key of a hash from webhook id to the highest warning that was sent. */
const WARNED = globalKey('failing', 'warned');

const warn = defineScript(
  'webhook-warned',
  `${noticeLinesLua}
   if tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) >= tonumber(ARGV[2]) then return 0 end
   redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
   if ARGV[3] ~= '' then keep_notice('${NOTICE_LINES}', ARGV[3], ${NOTICES.graceMs}) end
   return 1`,
);

/** State of a webhook that fails every attempt. */
export interface Failing {
  /** Epoch milliseconds of the first failure after the last success. */
  readonly since: number;
  /**
   * The partner is warned when its webhook has failed for certain percentages of the time after which it is disabled. This
   * is the percentage of the last warning, or 0 before the first warning.
   */
  readonly warned: number;
  /** Version of the registration at the first failure. */
  readonly version: number;
}

/** The webhooks that fail every attempt. They are stored in Redis, so that all workers share them. */
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

  /** Stores the time of the first failure. An earlier time stays stored unless it is of an older version (`isAnew`). */
  async begin(id: string, now: number, version: number, isAnew: boolean): Promise<void> {
    const text = `${now} ${version}`;
    if (isAnew) await this.redis.multi().hset(FAILING, id, text).hdel(WARNED, id).exec();
    else await this.redis.hsetnx(FAILING, id, text);
  }

  /**
   * Stores a warning together with the notice to the partner. Returns false if another worker has already warned.
   * @param notice the serialized notice; undefined if the partner was notified within the last hour
   */
  async warned(id: string, percent: number, notice: string | undefined): Promise<boolean> {
    return Number(await runScript(this.redis, warn, [WARNED], [id, percent, notice ?? ''])) === 1;
  }

  /** Deletes the state of a webhook that had a successful attempt or was disabled. */
  async end(id: string): Promise<void> {
    await this.redis.multi().hdel(FAILING, id).hdel(WARNED, id).exec();
  }
}
