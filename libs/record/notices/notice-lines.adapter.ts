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

/** A notice of a kind is told once in each hour of the epoch. */
export const HOUR_MS = 3_600_000;

/**
 * The kinds whose last fact counts, with what they are the state of: a further one of an hour waits for the next hour, in the
 * place of one that waits already. Others are told with the first facts of an hour.
 */
export const STATE_OF: Readonly<Partial<Record<NoticeType, string>>> = {
  'webhook.disabled': 'webhook',
  'webhook.enabled': 'webhook',
  'replay.finished': 'replay',
  'secret.rotated': 'secret',
};

/** Lines of one claim. */
const CLAIMED = 100;
/** Longer than Kafka may take for an answer, in ms. A line whose claimer was killed waits as long for its next one. */
const CLAIM_MS = 15_000;

const keep = defineScript(
  'notice-keep',
  `${noticeLinesLua}\nkeep_notice(KEYS[1], ARGV[1], ${NOTICES.graceMs})\nreturn 1\n`,
);

/** Twice the time for which a notice keeps others of its kind from being told. */
const TOLD_MS = 2 * HOUR_MS;

/**
 * KEYS: lines, claims, dropped. ARGV: '1' for those only that are left over. Returns the number of dropped lines, then the lines.
 * A line of a state that was told in its hour already waits in a set beside the others until the next hour begins, and the newest
 * one alone.
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
  /** Lines that were dropped since the last claim of any process, because too many waited. */
  readonly dropped: number;
  readonly lines: readonly string[];
  /** Further ones may wait. */
  readonly isFull: boolean;
}

/** One set of lines and a connection to the server that has it. */
interface LineSet {
  readonly redis: Redis;
  readonly key: string;
}

/** Notices that Kafka does not have yet, one a line. Scripts of other libs write them beside what they are about. */
export class NoticeLines {
  readonly #sets: readonly LineSet[];

  /** @param shards whose lines are claimed as well; a process that tells only what it keeps itself names none */
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
   * Takes lines that no other process tells now, the oldest of a set first.
   * @param isLeftOver only those that the process which made the change had time to tell
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

  /** Removes lines that Kafka has, or never takes. */
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

/** Content of a line; the script that applies changes of webhooks writes the same. */
export interface NoticeLine {
  /** When it happened, in epoch milliseconds. */
  readonly at: number;
  readonly type: NoticeType;
  readonly webhook: NoticeSubject;
  readonly facts: object;
  /** The beginning of the hour for which it has waited. */
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

/** Returns undefined for a text that is no line of the relay. */
export function readLine(text: string): NoticeLine | undefined {
  const space = text.indexOf(' ');
  try {
    return { ...(JSON.parse(text.slice(space + 1)) as NoticeLine), at: Number(text.slice(0, space)) };
  } catch {
    return undefined;
  }
}

/** The payload of the notice. A script tells times in milliseconds. */
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
 * A UUID (RFC 9562 version 8) that any process finds for the same kind, webhook and hour, so that the seen marks make several
 * notices of an hour one. @param at epoch milliseconds
 */
export function noticeId(type: NoticeType, webhookId: string, at: number): string {
  const hex = hash('sha256', `${type} ${webhookId} ${Math.floor(at / HOUR_MS)}`, 'hex');
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
