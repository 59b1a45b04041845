import { globalKey } from './shards.js';

/**
 * Sorted set of lines `<time of the fact> <notice as JSON>`. The score of a line is the earliest time at which any worker
 * may report the notice. Times are in epoch milliseconds. Each shard also has such a set, for the notices of its scripts.
 */
export const NOTICE_LINES = globalKey('notices');

/**
 * Key of the sorted set of the lines that processes are reporting now. If a line is still in the set at the time in its
 * score, another process may report it.
 */
export const noticeClaimsOf = (lines: string): string => `${lines}:claims`;
/** Key of the number of lines that were dropped and not logged yet. */
export const droppedNoticesOf = (lines: string): string => `${lines}:dropped`;

/** Limits of the lines. For `graceMs`, only the process that made the change reports it; after this time any worker may. */
export const NOTICES = { most: 1_000, graceMs: 5_000, oldestMs: 86_400_000 } as const;

/**
 * Lua for the beginning of a script that makes a change with a notice. `keep_notice(lines, line, grace)` stores a line in a
 * set of lines. If the process is killed before it reports the notice, a worker reports the line. An error in `keep_notice`
 * never fails the script. A fact older than a day gets no line: such a fact appears if Redis was emptied and the script runs
 * for it again. If there are too many lines, the oldest are dropped.
 */
export const noticeLinesLua = `
local function keep_notice(lines, line, grace)
  pcall(function()
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    if tonumber(string.match(line, '^%d+')) < now - ${NOTICES.oldestMs} then return end
    redis.call('ZADD', lines, 'NX', now + grace, line)
    local extra = redis.call('ZCARD', lines) - ${NOTICES.most}
    if extra <= 0 then return end
    redis.call('ZREMRANGEBYRANK', lines, 0, extra - 1)
    redis.call('INCRBY', lines .. ':dropped', extra)
  end)
end
`;
