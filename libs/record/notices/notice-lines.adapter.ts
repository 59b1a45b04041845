import { hash } from 'node:crypto';
import { type NoticeFacts, noticeText, type NoticeType } from '@relay/events';
import {
  defineScript,
  droppedNoticesOf,
  NOTICE_LINES,
  noticeClaimsOf,
  noticeLinesLua,
  NOTICES,
  runScript,
  type Shards,
} from '@relay/redis';
import type { Redis } from 'ioredis';

/** Each kind of notice about a webhook is sent at most once in a clock hour, for example from 13:00 to 14:00 UTC. */
export const HOUR_MS = 3_600_000;

/**
 * The kinds of notices that report a state. Each is mapped to the thing whose state it reports, so kinds that report on the
 * same thing replace each other. For these, the latest state matters: if a notice of the kind was already sent in this hour,
 * the next one waits for the next hour and replaces one that waits already. For all other kinds, the first notice of an hour
 * is sent and further ones are dropped.
 */
export const STATE_OF: Readonly<Partial<Record<NoticeType, string>>> = {
  'webhook.disabled': 'webhook',
  'webhook.enabled': 'webhook',
  'replay.finished': 'replay',
  'secret.rotated': 'secret',
};

/** Maximum number of lines in one claim. */
const CLAIMED = 100;
/**
 * How long a claim is valid, in ms: longer than Kafka may take to answer. If the process that claimed a line was killed,
 * other processes can claim it after this time.
 */
const CLAIM_MS = 15_000;

const keep = defineScript(
  'notice-keep',
  `${noticeLinesLua}\nkeep_notice(KEYS[1], ARGV[1], ${NOTICES.graceMs})\nreturn 1\n`,
);

/** How long Redis remembers the last notice of a kind: twice the time for which it blocks further notices of this kind. */
const TOLD_MS = 2 * HOUR_MS;

/**
 * Claims lines that are due. KEYS: lines, claims, dropped. ARGV: '1' to claim only lines whose grace period is over, during
 * which the process that stored a line publishes it itself. Returns the number of dropped lines since the last call, then
 * the claimed lines.
 *
 * If a line reports a state and a notice of its kind was already sent in its hour, the line is moved to the set
 * `<lines>:later` until the next hour begins. For each webhook and subject, only the newest line is kept there.
 */
const claim = defineScript(
  'notice-claim',
  `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local later = KEYS[1] .. ':later'
local state_of = cjson.decode('${JSON.stringify(STATE_OF)}')

local function is_due(line)
  local at, json = string.match(line, '^(%d+) (.*)$')
  local is_read, notice = pcall(cjson.decode, json or '')
  local state = is_read and type(notice) == 'table' and state_of[notice.type]
  if not state then return true end
  local told_key = KEYS[1] .. ':told:' .. notice.webhook.id .. ':' .. notice.type
  local later_key = later .. ':' .. notice.webhook.id .. ':' .. state
  local hour = math.floor((notice.after or tonumber(at)) / ${HOUR_MS})
  local waiting = redis.call('GET', later_key)
  local is_newest = not waiting or tonumber(string.match(waiting, '^%d+')) <= tonumber(at)
  if waiting and is_newest then
    redis.call('ZREM', later, waiting)
    redis.call('DEL', later_key)
  end
  local told_hour, told = string.match(redis.call('GET', told_key) or '', '^(%d+) (.*)$')
  if not told or told == line or tonumber(told_hour) < hour then
    redis.call('SET', told_key, string.format('%.0f ', hour) .. line, 'PX', ${TOLD_MS})
    return true
  end
  redis.call('ZREM', KEYS[1], line)
  if is_newest then
    notice.after = (told_hour + 1) * ${HOUR_MS}
    local delayed = at .. ' ' .. cjson.encode(notice)
    redis.call('ZADD', later, notice.after, delayed)
    redis.call('SET', later_key, delayed, 'PX', ${TOLD_MS})
  end
  return false
end

for _, line in ipairs(redis.call('ZRANGEBYSCORE', later, '-inf', now)) do
  redis.call('ZREM', later, line)
  redis.call('ZADD', KEYS[1], now, line)
end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] == '1' and now or '+inf')
local claimed = { redis.call('GET', KEYS[3]) or '0' }
redis.call('DEL', KEYS[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
for _, line in ipairs(found) do
  if #claimed > ${CLAIMED} then break end
  if not redis.call('ZSCORE', KEYS[2], line) and is_due(line) then
    redis.call('ZADD', KEYS[2], now + ${CLAIM_MS}, line)
    claimed[#claimed + 1] = line
  end
end
return claimed
`,
);

interface ClaimedLines {
  /** Number of lines that were dropped because too many waited, since the last claim of any process. */
  readonly dropped: number;
  readonly lines: readonly string[];
  /** Whether more lines may wait. */
  readonly isFull: boolean;
}

/** A set of lines, and a connection to the server that has the set. */
interface LineSet {
  readonly redis: Redis;
  readonly key: string;
}

/**
 * Notices that were not published to Kafka yet, one in each line. Scripts of other libs store them together with the change.
 */
export class NoticeLines {
  readonly #sets: readonly LineSet[];

  /**
   * @param shards shards whose lines are claimed too. A process that publishes only its own notices omits them.
   */
  constructor(
    private readonly redis: Redis,
    shards?: Shards,
  ) {
    const others = (shards?.all ?? []).filter((shard) => !shard.isGlobal);
    this.#sets = [
      { redis, key: NOTICE_LINES },
      ...others.map((shard) => ({ redis: shard.redis, key: shard.key('notices') })),
    ];
  }

  async keep(line: string): Promise<void> {
    await runScript(this.redis, keep, [NOTICE_LINES], [line]);
  }

  /**
   * Claims lines that no other process is publishing now. The oldest lines of each set come first.
   * @param isLeftOver whether to claim only lines whose grace period is over. Before that, the process that stored a line
   *   publishes it itself.
   */
  async claim(isLeftOver: boolean): Promise<ClaimedLines> {
    const claimed = await Promise.all(this.#sets.map((set) => claimOf(set, isLeftOver)));
    return {
      dropped: claimed.reduce((sum, { dropped }) => sum + dropped, 0),
      lines: claimed.flatMap(({ lines }) => lines),
      isFull: claimed.some(({ isFull }) => isFull),
    };
  }

  async count(): Promise<number> {
    const counts = await Promise.all(this.#sets.map(({ redis, key }) => redis.zcard(key)));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  /** Removes lines that were published or will never be. */
  async remove(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    await Promise.all(
      this.#sets.map(({ redis, key }) =>
        redis
          .multi()
          .zrem(key, ...lines)
          .zrem(noticeClaimsOf(key), ...lines)
          .exec(),
      ),
    );
  }
}

async function claimOf({ redis, key }: LineSet, isLeftOver: boolean): Promise<ClaimedLines> {
  const keys = [key, noticeClaimsOf(key), droppedNoticesOf(key)];
  const [dropped, ...lines] = (await runScript(redis, claim, keys, [isLeftOver ? 1 : 0])) as string[];
  return { dropped: Number(dropped), lines, isFull: lines.length === CLAIMED };
}

export interface NoticeSubject {
  readonly id: string;
  readonly partnerId: string;
  readonly eventType: string;
  readonly origin: string;
}

/** Content of a line. The script that applies changes of webhooks writes the same format. */
export interface NoticeLine {
  /** When the change happened, in epoch milliseconds. */
  readonly at: number;
  readonly type: NoticeType;
  readonly webhook: NoticeSubject;
  readonly facts: object;
  /** Begin of the hour that the line waited for, in epoch milliseconds. Set only if it had to wait. */
  readonly after?: number;
}

export function lineOf<T extends NoticeType>(
  type: T,
  { id, partnerId, eventType, origin }: NoticeSubject,
  facts: NoticeFacts<T>,
  at: number,
): string {
  return `${at} ${JSON.stringify({ type, webhook: { id, partnerId, eventType, origin }, facts })}`;
}

/** Reads a line; undefined if the text is not a line of the relay. */
export function readLine(text: string): NoticeLine | undefined {
  const space = text.indexOf(' ');
  try {
    return { ...(JSON.parse(text.slice(space + 1)) as NoticeLine), at: Number(text.slice(0, space)) };
  } catch {
    return undefined;
  }
}

/**
 * Returns the payload of the notice. Lines that scripts write have times in epoch milliseconds, which are converted to ISO
 * texts.
 */
export function payloadOf({ at, type, webhook, facts: told }: NoticeLine): object {
  const facts = Object.fromEntries(
    Object.entries(told).map(([name, value]) => [
      name,
      name === 'oldSecretUntil' && typeof value === 'number' ? new Date(value).toISOString() : (value as unknown),
    ]),
  ) as NoticeFacts<typeof type>;
  return { ...webhook, at: new Date(at).toISOString(), message: noticeText(type, facts), ...facts };
}

/**
 * Returns the id of a notice: a UUID (RFC 9562, version 8) that depends only on the kind, the webhook and the hour. If
 * several processes publish the same notice, the seen marks therefore keep only one.
 * @param at when the change happened, in epoch milliseconds
 */
export function noticeId(type: NoticeType, webhookId: string, at: number): string {
  const hex = hash('sha256', `${type} ${webhookId} ${Math.floor(at / HOUR_MS)}`, 'hex');
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
