import {
  defineScript,
  NOTICE_CLAIMS,
  NOTICE_LINES,
  NOTICES,
  NOTICES_DROPPED,
  noticeLinesLua,
  runScript,
} from '@relay/redis';
import type { Redis } from 'ioredis';

/** Lines of one claim. */
const CLAIMED = 100;
/** Longer than Kafka may take for an answer. Whoever claimed a line and was killed is waited for as long. */
const CLAIM_MS = 15_000;

const keep = defineScript('notice-keep', `${noticeLinesLua}\nkeep_notice(ARGV[1], ${NOTICES.graceMs})\nreturn 1\n`);

/** KEYS: lines, claims, dropped. ARGV: '1' for those only that are left over. Returns the number of dropped lines, then the lines. */
const claim = defineScript(
  'notice-claim',
  `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] == '1' and now or '+inf')
local claimed = { redis.call('GET', KEYS[3]) or '0' }
redis.call('DEL', KEYS[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
for _, line in ipairs(found) do
  if #claimed > ${CLAIMED} then break end
  if redis.call('ZADD', KEYS[2], 'NX', now + ${CLAIM_MS}, line) == 1 then claimed[#claimed + 1] = line end
end
return claimed
`,
);

export interface ClaimedLines {
  /** Lines that were dropped since the last claim of any process, because too many waited. */
  readonly dropped: number;
  readonly lines: readonly string[];
  /** Further ones may wait. */
  readonly isFull: boolean;
}

/** Notices that Kafka does not have yet, one a line. Scripts of other libs write them beside what they are about. */
export class NoticeLines {
  constructor(private readonly redis: Redis) {}

  async keep(line: string): Promise<void> {
    await runScript(this.redis, keep, [NOTICE_LINES], [line]);
  }

  /**
   * Takes lines that no other process tells now, the oldest first.
   * @param isLeftOver only those that the process which made the change had time to tell
   */
  async claim(isLeftOver: boolean): Promise<ClaimedLines> {
    const keys = [NOTICE_LINES, NOTICE_CLAIMS, NOTICES_DROPPED];
    const [dropped, ...lines] = (await runScript(this.redis, claim, keys, [isLeftOver ? 1 : 0])) as string[];
    return { dropped: Number(dropped), lines, isFull: lines.length === CLAIMED };
  }

  /** Kafka has these, or never takes them. */
  async remove(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    await this.redis
      .multi()
      .zrem(NOTICE_LINES, ...lines)
      .zrem(NOTICE_CLAIMS, ...lines)
      .exec();
  }
}
